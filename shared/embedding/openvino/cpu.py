"""What this processor computes fast."""

from enum import StrEnum
from pathlib import Path


class Precision(StrEnum):
    INT8 = "int8"
    FP32 = "fp32"


# Products of bytes in one instruction. Without them OpenVINO turns the int8 weights back into floats before
# each product: no faster than exact floats, and less exact (docs/benchmarks/embedding.md).
_BYTE_PRODUCTS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})
_BFLOAT16_PRODUCTS = frozenset({"avx512_bf16", "amx_bf16"})
_CPUINFO = Path("/proc/cpuinfo")


def fastest_precision(cpuinfo: Path = _CPUINFO) -> Precision:
    """int8 where the processor is known to be faster with it, else fp32, which is exact."""
    return Precision.INT8 if _BYTE_PRODUCTS.intersection(_flags(cpuinfo)) else Precision.FP32


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool:
    """Where it does not, OpenVINO imitates it, slowly."""
    return bool(_BFLOAT16_PRODUCTS.intersection(_flags(cpuinfo)))


def _flags(cpuinfo: Path) -> list[str]:
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return []
    return next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
