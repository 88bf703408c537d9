"""Local services as processes of their own, on free ports and in folders of their own."""

from pathlib import Path

from localcloud import LocalCloud

ROOT = Path(__file__).resolve().parents[2]
RunningService = LocalCloud.Service
start_service = LocalCloud.start
running_service = LocalCloud.running
