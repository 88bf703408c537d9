"""The hooks of a deployment, run as azd runs them: the line of azure.yaml, in the folder of the project."""

import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import yaml

from shared.azure.search.versions import IndexMissingError, version_name
from tests.infra.conftest import ROOT
from tests.infra.plans import of_type, planned
from tests.support.services import running_service
from web.access import ROLES

AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text())
SERVICE: dict[str, Any] = AZURE["services"]["web"]["hooks"]
MODEL = Path("models/all-MiniLM-L6-v2")
BUILDER = """
import os, pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True, exist_ok=True)
for name in ("manifest.json", "tokenizer.json", "fp32.bin", "fp32.xml", "int8.bin", "int8.xml"):
    part = pathlib.Path("build", f"{name}.{os.getpid()}")
    part.write_text(sys.prefix)
    part.replace(out / name)
"""


def run(hook: Mapping[str, Any], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a hook as azd does: a shell runs its line with the environment's values."""
    assert hook["posix"]["shell"] == "sh"
    known = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PIP_NO_INDEX": "1", **environment}
    return subprocess.run(
        ["sh", "-c", hook["posix"]["run"]],
        cwd=folder, env=known, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone without .venv and models, as small as possible, so that nothing has to be installed."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "infra/hooks", clone / "infra/hooks", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".funcignore", "azure.yaml", "function_app.py", "host.json", "LICENSE"):
        shutil.copy(ROOT / name, clone / name)
    for name in ("requirements.txt", "requirements-model.txt"):
        (clone / name).write_text("# nothing\n")
    for folder in ("shared/embedding/openvino", "stages", "web"):
        (clone / folder).mkdir(parents=True)
        (clone / folder / "__init__.py").touch()
    (clone / "shared/__init__.py").touch()
    (clone / "shared/embedding/__init__.py").touch()
    (clone / "shared/embedding/openvino/build.py").write_text(BUILDER)
    return clone


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hook_{name}", ROOT / f"infra/hooks/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


package = module("package")


def test_the_model_is_built_by_a_hook_that_azd_deploy_fires() -> None:
    """Project hooks run around azd commands, and service hooks around the steps of the service."""
    assert "prepackage" in SERVICE
    assert "prepackage" not in AZURE.get("hooks", {})
    for hooks in (SERVICE, AZURE["hooks"]):
        for hook in hooks.values():
            assert hook.keys() == {"posix", "windows"}
            assert not any("continueOnError" in way for way in hook.values())
            assert hook["windows"]["run"] == hook["posix"]["run"].replace("python3", "python")


def test_a_clean_clone_deploys_the_model_too_or_nothing(clone: Path) -> None:
    first = run(SERVICE["prepackage"], clone)
    again = run(SERVICE["prepackage"], clone)
    (clone / "archive.mbox").touch()
    with_stray = run(SERVICE["prepackage"], clone)
    (clone / "shared/embedding/openvino/build.py").write_text("raise SystemExit('no weights')")
    without_weights = run(SERVICE["prepackage"], clone)
    index = run(AZURE["hooks"]["postprovision"], clone, SEARCH_ENDPOINT="https://search.invalid")

    assert first.returncode == 0, first.stderr
    # Built in its own environment.
    assert (clone / MODEL / "manifest.json").read_text() == str(clone / "build/hooks")
    assert "into build/hooks" in first.stdout
    assert again.returncode == 0
    assert "into build/hooks" not in again.stdout
    files = package.Package(clone).files
    assert MODEL / "int8.bin" in files
    assert not [path for path in files if path.parts[0] in ("build", "infra")]
    assert (with_stray.returncode, without_weights.returncode, index.returncode) == (1, 1, 1)
    assert "archive.mbox is not part of the app" in with_stray.stderr
    assert "no weights\nThe embedding model could not be built" in without_weights.stderr
    assert "ModuleNotFoundError" in index.stderr  # reported once, without a retry
    assert "docs/deploy.md" in index.stderr


def test_hooks_that_azd_runs_side_by_side_set_up_one_environment(clone: Path) -> None:
    """Packages are built while azd provisions, so no hook may clear the environment for the other."""
    (clone / "infra/hooks/search_index.py").write_text("import pip, sys; print(sys.prefix)")
    offsets, hooks = Random(1), (SERVICE["prepackage"], AZURE["hooks"]["postprovision"])

    def start(number: int) -> subprocess.CompletedProcess[str]:
        threading.Event().wait(offset_of[number])
        return run(hooks[number % 2], clone)

    offset_of = [offsets.uniform(0, 3) for _ in range(20)]
    with ThreadPoolExecutor(len(offset_of)) as started:
        ended = list(started.map(start, range(len(offset_of))))

    assert [done.stderr for done in ended if done.returncode != 0] == []
    assert sum("into build/hooks" in done.stdout for done in ended) == 1
    assert all(str(clone / "build/hooks") in done.stdout for done in ended[1::2])


def test_the_hook_builds_with_the_code_that_is_there() -> None:
    assert importlib.util.find_spec(module("environment").BUILD_MODEL) is not None


def test_the_hook_leaves_a_model_that_is_current_as_it_is() -> None:
    manifest = ROOT / MODEL / "manifest.json"
    before = manifest.stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, "infra/hooks/prepackage.py"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert str(MODEL) in done.stdout
    assert manifest.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("stray", "named"),
    [
        ("archive.mbox", "archive.mbox is not part of the app"),
        (".env", ".env is not part of the app"),
        ("shared/keys/private.pem", "private.pem is not part of the app"),
        ("notes/todo.txt", "notes/todo.txt is not part of the app"),
    ],
)
def test_a_stray_file_is_named(stray: str, named: str, clone: Path) -> None:
    (clone / stray).parent.mkdir(parents=True, exist_ok=True)
    (clone / stray).write_text("x")

    assert any(named in line for line in package.problems_of(package.Package(clone), MODEL))


def test_what_azd_restore_leaves_behind_is_not_packed(clone: Path) -> None:
    """The environment of `azd restore` is in the folder of the service, under the name of that folder."""
    module = clone / f"{clone.name}_env/lib/python3.11/site-packages/x.py"
    module.parent.mkdir(parents=True)
    module.touch()
    kept = {path.parts[0] for path in package.Package(clone).files}

    assert kept <= package.ALLOWED


def test_a_package_without_its_model_or_requirements_is_refused(clone: Path) -> None:
    (clone / "requirements.txt").unlink()
    found = package.problems_of(package.Package(clone), MODEL)

    assert "requirements.txt is missing: is this the folder of the project?" in found
    assert any("tokenizer.json is missing or empty" in line for line in found)


def test_a_package_that_is_too_large_is_refused(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "LARGEST", 10)
    found = package.problems_of(package.Package(clone), MODEL)

    assert any("exceed the limit of 10" in line for line in found)


def test_our_own_package_is_in_order() -> None:
    found = package.Package(ROOT)

    assert package.problems_of(found, MODEL) == []
    assert found.size < 150_000_000


def test_the_patterns_of_funcignore_are_of_the_kind_that_the_check_knows() -> None:
    for line in (ROOT / ".funcignore").read_text().splitlines():
        assert line.startswith("#") or not set("/!") & set(line), line


def test_the_index_is_made_on_a_clean_machine(tmp_path: Path) -> None:
    """The hook uses the code's own definition, and only values that azd knows."""
    with running_service("search", data=tmp_path / "data") as service:
        known = service.settings
        results = [
            subprocess.run(
                [sys.executable, "infra/hooks/postprovision.py"],
                cwd=ROOT, env={**os.environ, **known, "SEARCH_INDEX": "made"},
                capture_output=True, text=True, timeout=60, check=False,
            )
            for _ in range(2)
        ]  # fmt: skip
        names = index_names(known)

    assert [(done.returncode, done.stderr) for done in results] == [(0, "")] * 2
    assert names == {version_name("made", "all-MiniLM-L6-v2")}


def index_names(known: Mapping[str, str]) -> set[str]:
    from azure.core.credentials import AzureKeyCredential  # noqa: PLC0415
    from azure.search.documents.indexes import SearchIndexClient  # noqa: PLC0415

    endpoint, ca = known["SEARCH_ENDPOINT"], known["SEARCH_CA_FILE"]
    with SearchIndexClient(endpoint, AzureKeyCredential(known["SEARCH_KEY"]), connection_verify=ca) as client:
        return set(client.list_index_names())


def index_hook(endpoint: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "infra/hooks/search_index.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SEARCH_ENDPOINT": endpoint, "SEARCH_KEY": "k", **more},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_role_that_is_not_known_yet_is_waited_for() -> None:
    with answering([403, 403, 400]) as address:
        done = index_hook(address, INDEX_PAUSE_SECONDS="0")

    assert done.returncode == 1
    assert done.stderr.count("has not propagated yet") == 2  # the 400 is an error at once


def test_a_service_inside_a_network_is_left_to_somebody_inside() -> None:
    with answering([403]) as address:
        done = index_hook(address, VNET_ENABLED="true")

    assert (done.returncode, done.stderr) == (3, "")


@contextmanager
def answering(statuses: list[int], body: bytes = b"{}") -> Iterator[str]:
    """Serve these statuses in order, and then repeat the last."""
    left = list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - the names that the server calls

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ('OPERATOR_KEY="akvs://sub/vault/operator-key"', 0),
        ('OPERATOR_KEY=""', 0),
        ('OPERATOR_KEY="of sixteen characters"', 1),
        ("SMTP_URL=smtps://digests:password@mail.example.org", 1),
        ('ALERT_EMAIL="ops@example.org"', 0),
    ],
)
def test_a_secret_in_clear_in_the_environment_of_azd_is_refused(line: str, ends: int, clone: Path) -> None:
    (clone / ".azure/demo").mkdir(parents=True)
    (clone / ".azure/demo/.env").write_text(f'AZURE_ENV_NAME="demo"\n{line}\n')
    done = run(AZURE["hooks"]["preprovision"], clone, AZURE_ENV_NAME="demo")

    assert done.returncode == ends, done.stderr
    name, _, value = line.partition("=")
    assert (f"azd env set-secret {name}" in done.stderr) == bool(ends)
    assert not ends or value.strip('"') not in done.stderr


AZD = """#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" = auth ] && echo '{"token": "t"}'
exit 0
"""


@pytest.mark.parametrize(
    ("known", "status", "kept"),
    [
        ({"BUDGET_AMOUNT": "100"}, 200, ["env set BUDGET_START_DATE 2026-03-01T00:00:00Z"]),
        ({"BUDGET_AMOUNT": "100"}, 404, []),  # no budget exists yet
        ({"BUDGET_AMOUNT": "100", "BUDGET_START_DATE": "2026-01-01T00:00:00Z"}, 200, []),
        ({"BUDGET_AMOUNT": "0"}, 200, []),
        ({"BUDGET_AMOUNT": ""}, 200, []),
    ],
)
def test_a_pipeline_asks_for_the_first_day_of_the_budget_that_is_there(
    known: dict[str, str], status: int, kept: list[str], clone: Path, tmp_path: Path
) -> None:
    calls, tools = tmp_path / "calls", tmp_path / "tools"
    tools.mkdir()
    (tools / "azd").write_text(AZD)
    (tools / "azd").chmod(0o755)
    calls.touch()
    body = json.dumps({"properties": {"timePeriod": {"startDate": "2026-03-01T00:00:00Z"}}}).encode()
    with answering([status], body) as address:
        done = run(
            AZURE["hooks"]["preprovision"], clone, **known,
            AZURE_ENV_NAME="demo", AZURE_SUBSCRIPTION_ID="sub", AZURE_RESOURCE_MANAGER=address,
            CALLS=str(calls), PATH=f"{tools}:{os.environ['PATH']}",
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert [line for line in calls.read_text().splitlines() if not line.startswith("auth")] == kept


def test_the_hook_asks_for_the_budget_that_is_deployed() -> None:
    (budget,) = of_type("longest-name", "Microsoft.Consumption/budgets")

    assert budget.name == f"{'e' * 64}-monthly"[: module_text("preprovision", "LONGEST_NAME")]


def module_text(name: str, constant: str) -> int:
    found = re.search(rf"^{constant} = (\d+)", (ROOT / f"infra/hooks/{name}.py").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_a_deployment_is_done_when_the_app_is_well(clone: Path) -> None:
    with answering([200]) as address:
        done = run(SERVICE["postdeploy"], clone, APP_URI=address)

    assert (done.returncode, done.stdout) == (0, f"{address}/api/health is healthy\n")


def test_the_hook_says_what_the_app_says_when_it_is_not_well(clone: Path) -> None:
    body = json.dumps({"status": "misconfigured", "problems": ["COSMOS_ENDPOINT: missing"]}).encode()
    with answering([503], body) as address:
        done = run(SERVICE["postdeploy"], clone, APP_URI=address, HEALTH_ATTEMPTS="1")

    assert done.returncode == 1
    assert "still responds with 503" in done.stderr
    assert "COSMOS_ENDPOINT: missing" in done.stderr


def not_ready(**says: str) -> bytes:
    checks = {name: {"ok": False, "seconds": 0.1, "says": line} for name, line in says.items()}
    dependencies = {"settings": {"ok": True, "seconds": 0.0}, **checks}
    problems = [f"{name}: {line}" for name, line in says.items()]
    return json.dumps({"status": "unready", "dependencies": dependencies, "problems": problems}).encode()


@pytest.mark.parametrize(
    ("says", "known", "ended"),
    [
        ({"search": str(IndexMissingError("chunks"))}, {"VNET_ENABLED": "true"}, 0),
        ({"search": str(IndexMissingError("chunks"))}, {}, 1),
        ({"search": "HttpResponseError"}, {"VNET_ENABLED": "true"}, 1),
        ({"search": str(IndexMissingError("chunks")), "cosmos": "down"}, {"VNET_ENABLED": "true"}, 1),
    ],
)
def test_in_a_private_network_the_app_may_lack_its_index_and_nothing_else(
    says: dict[str, str], known: dict[str, str], ended: int, clone: Path
) -> None:
    with answering([503], not_ready(**says)) as address:
        done = run(SERVICE["postdeploy"], clone, APP_URI=address, HEALTH_ATTEMPTS="1", **known)

    assert done.returncode == ended, done.stderr
    assert ("inside the network" in done.stdout) == (ended == 0)


def test_the_hooks_have_the_values_that_they_need_from_the_outputs() -> None:
    _, outputs = planned("plain")

    assert {"APP_URI", "SEARCH_ENDPOINT"} <= outputs.keys()


@contextmanager
def graph(refuses: str = "") -> Iterator[tuple[str, list[tuple[str, str, Any, bool]]]]:
    """A server that behaves as Microsoft Graph documents: an upsert creates a missing object."""
    made: dict[str, dict[str, Any]] = {}
    asked: list[tuple[str, str, Any, bool]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body, path = json.loads(content) if content else None, urllib.parse.unquote(self.path)
            creates = self.headers.get("Prefer") == "create-if-missing"
            asked.append((self.command, path, body, creates))
            if refuses and refuses in path:
                self._end(403, {"error": {"message": "Insufficient privileges"}})
            elif self.command == "GET":
                self._end(200 if path in made else 404, made.get(path))
            elif path in made or creates or "(" not in path or "appId='app'" in path:
                made[path] = {"id": "object", "appId": "app", **made.get(path, {}), **(body or {})}
                self._end(204, None)
            else:
                self._end(404, {})

        do_GET = do_PATCH = do_POST = _answer  # noqa: N815 - the names that the server calls

        def _end(self, status: int, body: Any) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def registering(clone: Path, hook: str, address: str, **more: str) -> subprocess.CompletedProcess[str]:
    (clone / "bin").mkdir(exist_ok=True)
    (clone / "bin/azd").write_text(AZD)
    (clone / "bin/azd").chmod(0o755)
    return run(
        AZURE["hooks"][hook], clone, PATH=f"{clone / 'bin'}:{os.environ['PATH']}", MICROSOFT_GRAPH=address,
        CALLS=str(clone / "calls"), AZURE_ENV_NAME="demo", AUTH_MODE="entra", **more,
    )  # fmt: skip


def test_the_registration_is_made_with_the_roles_of_the_app_and_without_a_secret(clone: Path) -> None:
    with graph() as (address, asked):
        done = registering(clone, "preprovision", address)
        again = registering(clone, "preprovision", address)

    assert (done.returncode, again.returncode) == (0, 0), done.stderr + again.stderr
    assert "env set AUTH_CLIENT_ID app" in (clone / "calls").read_text()
    method, path, body, creates = asked[0]
    assert (method, path, creates) == ("PATCH", "/applications(uniqueName='rough-consensus-demo')", True)
    assert {role["value"] for role in body["appRoles"]} == set(ROLES)
    assert asked[len(asked) // 2][2] == body  # the same ids, so that assignments of people survive
    assert not any("assword" in json.dumps(found) or "secret" in json.dumps(found) for found in asked)


def test_the_registration_trusts_the_identity_of_the_web_app_alone(clone: Path) -> None:
    known = {
        "APP_URI": "https://web.example.org",
        "AUTH_CLIENT_ID": "app",
        "WEB_PRINCIPAL_ID": "web",
        "AZURE_TENANT_ID": "t",
    }
    with graph() as (address, asked):
        registering(clone, "postprovision", address, **known)

    assert asked[0][2] == {"web": {"redirectUris": ["https://web.example.org/.auth/login/aad/callback"]}}
    assert asked[1][2]["subject"] == "web"
    assert asked[1][3] is True


def test_a_registration_that_is_refused_ends_the_deployment_and_says_why(clone: Path) -> None:
    with graph(refuses="/applications") as (address, _):
        before = registering(clone, "preprovision", address)
        after = registering(clone, "postprovision", address)

    assert (before.returncode, after.returncode) == (1, 1)
    assert "Insufficient privileges" in before.stderr
    assert "you need permission to register applications" in before.stderr
    assert "APP_URI, AUTH_CLIENT_ID, AZURE_TENANT_ID, WEB_PRINCIPAL_ID: missing" in after.stderr


def test_a_pipeline_takes_the_registration_that_a_person_made(clone: Path) -> None:
    with graph() as (address, asked):
        done = registering(
            clone, "preprovision", address, AUTH_CLIENT_ID="app", AZURE_PRINCIPAL_TYPE="ServicePrincipal"
        )

    assert (done.returncode, asked) == (0, [])
