"""Local services as processes, on free ports and in separate folders."""

from pathlib import Path

from localcloud import LocalCloud

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = ROOT.parent
RunningService = LocalCloud.Service
start_service = LocalCloud.start
running_service = LocalCloud.running
