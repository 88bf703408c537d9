"""Holds the API against its OpenAPI document: `python -m tests.web.contract ST [OPTIONS]`.

`ST` is the program of Schemathesis, which has an environment of its own (`make contract`). The app runs on the
local cloud, with the samples.
"""

import subprocess
import sys

from tests.support.cloud import local_cloud
from tests.web.site import sample_site

SEED, EXAMPLES = "41", "30"
ROUTES_CHECKED = 30  # a run that finds fewer proves nothing


def main(program: str, *options: str) -> int:
    with local_cloud() as cloud, sample_site(cloud) as site:
        command = [program, "run", f"{site.url}/api/openapi.json", "--seed", SEED, "--max-examples", EXAMPLES]
        paths = site.json("/api/openapi.json")["paths"]
        if len(paths) < ROUTES_CHECKED:
            raise SystemExit(f"the document names {len(paths)} paths")
        return subprocess.run([*command, *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
