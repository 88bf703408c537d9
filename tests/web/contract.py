"""Check the API against its OpenAPI document: `python -m tests.web.contract ST [OPTIONS]`.

`ST` is the program of Schemathesis, which has its own environment (`make contract`). The app runs on the
local cloud with the samples. Its web part runs in a host that requires function keys, as Azure does.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.cloud import local_cloud
from tests.support.host import running_host
from tests.support.services import ROOT
from tests.web.site import sample_site

OPERATIONS = 40  # fewer operations prove nothing
# The Functions host answers a method without a function with 404. A schema cannot express every condition of
# a valid request: an archive of mail, a cursor of this API.
NOT_CHECKED = "unsupported_method,positive_data_acceptance"
MORE = {
    "APP_PART": "web",
    "RATE_LIMITS": "search=0,ask=0,raw=0,upload=0,signin=0,report=0",
    "REQUEST_SECONDS": "60",
}


def main(program: str, *options: str) -> int:
    program = str(Path(program).resolve())
    with (
        tempfile.TemporaryDirectory(prefix="contract-") as folder,
        local_cloud() as cloud,
        sample_site(cloud) as site,
        running_host(ROOT, Path(folder) / "host", "--enable-auth", **site.environ | MORE) as host,
    ):
        paths = host.get("/api/openapi.json").json()["paths"]
        if sum(map(len, paths.values())) < OPERATIONS:
            raise SystemExit(f"the document names {len(paths)} paths")
        (keys,) = Path(folder).rglob("keys.json")
        key = json.loads(keys.read_text())["hostKey"]
        checked = ["--checks", "all", "--exclude-checks", NOT_CHECKED, "--header", f"x-functions-key: {key}"]
        command = [program, "run", f"{host.url}/api/openapi.json", *checked, "--seed", "41", *options]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
