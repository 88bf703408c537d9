"""OpenVINO without its telemetry. Everything here imports OpenVINO from this module.

The first import of `openvino` would import its model converter, and that reports the import to Google
Analytics from a forked process. We convert nothing, nobody was asked, and a fork beside threads can
hang: so the converter cannot be imported, which OpenVINO allows for.
"""

import sys
from typing import Any

if "openvino" not in sys.modules:
    unwanted: dict[str, Any] = {"openvino.tools.ovc": None, "openvino_telemetry": None}
    sys.modules.update(unwanted)

import openvino as ov
from openvino import opset13 as opset

__all__ = ["opset", "ov"]
