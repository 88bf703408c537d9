import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.__main__ import main
from localcloud.ports import NoFreePortsError, Ports, busy_ports, choose_ports
from localcloud.up.catalogue import NAMES, UnknownServiceError, plan_services
from localcloud.up.command import note_settings
from localcloud.up.data_folder import DataFolderError, data_folder
from localcloud.up.project import Project, ProjectError, read_project
from localcloud.up.settings_file import SettingsFileError, settings_of_all, write_local_settings

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_the_standard_ports_match_the_emulators() -> None:
    assert Ports().numbers() == [10000, 10001, 10002, 5672, 5300, 8081, 7443, 7071, 4319]


def test_a_busy_port_asked_for_by_offset_is_named(taken: int) -> None:
    offset = taken - Ports().blob
    assert taken in busy_ports(Ports().moved(offset))
    with pytest.raises(NoFreePortsError, match=str(taken)):
        choose_ports(offset)


def test_all_ports_move_together_if_a_standard_port_is_in_use() -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", Ports().table))
            listener.listen()
        except OSError:
            pass  # another process uses it: just as busy
        ports = choose_ports()
    assert ports.table - Ports().table == ports.functions - Ports().functions > 0


def test_every_service_is_planned_with_its_address_and_health(tmp_path: Path) -> None:
    plans = plan_services(Ports().moved(100), project=read_project(ROOT), data=tmp_path)
    assert tuple(plan.name for plan in plans) == NAMES
    assert {plan.name: plan.address for plan in plans} == {
        "storage": "http://127.0.0.1:10100",
        "servicebus": "amqp://127.0.0.1:5772",
        "cosmos": "http://127.0.0.1:8181",
        "search": "https://localhost:7543",
        "telemetry": "http://127.0.0.1:4419",
        "functions": "http://127.0.0.1:7171",
    }
    assert plans[-1].needs == NAMES[:-1]


def test_an_unknown_service_is_reported_with_the_known_services(tmp_path: Path) -> None:
    with pytest.raises(UnknownServiceError, match=r"'redis'.*storage, servicebus"):
        plan_services(Ports(), project=read_project(ROOT), data=tmp_path, only=["cosmos", "redis"])


def settings_root(folder: Path) -> Path:
    sample = (ROOT / "local.settings.sample.json").read_text(encoding="utf-8")
    (folder / "local.settings.sample.json").write_text(sample, encoding="utf-8")
    return folder


def read_values(folder: Path) -> dict[str, str]:
    values: dict[str, str] = json.loads((folder / "local.settings.json").read_text(encoding="utf-8"))[
        "Values"
    ]
    return values


def test_on_the_standard_ports_the_written_settings_match_the_sample_and_the_receiver(
    tmp_path: Path,
) -> None:
    root = settings_root(tmp_path)
    write_local_settings(root, settings_of_all(Ports(), Path(".localcloud"), NAMES))
    sample = json.loads((root / "local.settings.sample.json").read_text(encoding="utf-8"))
    values = read_values(root)
    receiver = values.pop("APPLICATIONINSIGHTS_CONNECTION_STRING")
    assert values == sample["Values"]
    assert receiver.endswith(";IngestionEndpoint=http://127.0.0.1:4319/")


def test_without_the_receiver_telemetry_is_off(tmp_path: Path) -> None:
    root = settings_root(tmp_path)
    write_local_settings(root, settings_of_all(Ports(), Path(".localcloud"), NAMES))
    write_local_settings(root, settings_of_all(Ports(), Path(".localcloud"), NAMES[:4]))
    assert not read_values(root)["APPLICATIONINSIGHTS_CONNECTION_STRING"]


def test_moved_ports_reach_every_address_in_the_settings(tmp_path: Path) -> None:
    root = settings_root(tmp_path)
    write_local_settings(root, settings_of_all(Ports().moved(100), tmp_path / "data", NAMES))
    values = read_values(root)
    assert "sb://localhost:5772;" in values["SERVICEBUS_CONNECTION"]
    assert "BlobEndpoint=http://127.0.0.1:10100/devstoreaccount1;" in values["AzureWebJobsStorage"]
    assert values["COSMOS_ENDPOINT"] == "http://localhost:8181"
    assert values["SEARCH_ENDPOINT"] == "https://localhost:7543"
    assert values["SEARCH_CA_FILE"] == str(tmp_path / "data" / "search" / "tls" / "ca.pem")


def test_settings_of_the_user_stay(tmp_path: Path) -> None:
    root = settings_root(tmp_path)
    own = {"IsEncrypted": False, "Host": {"CORS": "*"}, "Values": {"MY_FLAG": "1", "COSMOS_DATABASE": "mine"}}
    (root / "local.settings.json").write_text(json.dumps(own), encoding="utf-8")
    write_local_settings(root, settings_of_all(Ports().moved(100), tmp_path, NAMES))
    values = read_values(root)
    assert (values["MY_FLAG"], values["COSMOS_DATABASE"]) == ("1", "mine")
    assert values["COSMOS_ENDPOINT"] == "http://localhost:8181"
    assert json.loads((root / "local.settings.json").read_text(encoding="utf-8"))["Host"] == {"CORS": "*"}


@pytest.mark.parametrize("content", ["{", "[]", '{"Values": []}', '{"Values": {"A": 1}}'])
def test_a_broken_settings_file_is_named_and_left_as_it_is(tmp_path: Path, content: str) -> None:
    root = settings_root(tmp_path)
    (root / "local.settings.json").write_text(content, encoding="utf-8")
    with pytest.raises(SettingsFileError, match=r"local\.settings\.json"):
        write_local_settings(root, {})
    assert (root / "local.settings.json").read_text(encoding="utf-8") == content


def test_a_data_folder_serves_one_local_cloud_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with (
        data_folder(folder, fresh=False),
        pytest.raises(DataFolderError, match="in use by process"),
        data_folder(folder, fresh=False),
    ):
        pass
    with data_folder(folder, fresh=False):
        pass


def test_fresh_deletes_stored_data_and_otherwise_it_stays(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with data_folder(folder, fresh=False):
        (folder / "cosmos").mkdir()
        (folder / "cosmos" / "db").write_text("x")
    with data_folder(folder, fresh=False):
        assert (folder / "cosmos" / "db").exists()
    with data_folder(folder, fresh=True):
        assert not (folder / "cosmos").exists()


def test_fresh_does_not_wipe_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with (
        pytest.raises(DataFolderError, match="not created by the local cloud"),
        data_folder(tmp_path, fresh=True),
    ):
        pass
    assert (tmp_path / "thesis.txt").exists()


def test_the_logs_of_the_start_before_are_kept(tmp_path: Path) -> None:
    for start in ("first", "second", "third"):
        with data_folder(tmp_path, fresh=False):
            (tmp_path / "logs").mkdir()
            (tmp_path / "logs" / "a.log").write_text(start)
    assert (tmp_path / "logs.before" / "a.log").read_text() == "second"


def test_an_app_without_a_file_has_its_entities_in_its_folder(tmp_path: Path) -> None:
    assert read_project(tmp_path) == Project(tmp_path)
    with pytest.raises(ProjectError, match=r"Config\.json does not exist.*localcloud\.toml"):
        plan_services(Ports(), project=read_project(tmp_path), data=tmp_path, only=["servicebus"])
    (tmp_path / "Config.json").write_text("{}")
    (plan,) = plan_services(Ports(), project=read_project(tmp_path), data=tmp_path, only=["servicebus"])
    assert str(tmp_path / "Config.json") in plan.command


def test_a_file_names_the_app_its_entities_and_its_preparation(tmp_path: Path) -> None:
    (tmp_path / "localcloud.toml").write_text(
        'name = "Shop"\nservicebus = "bus.json"\n[prepare]\ncommand = ["python", "-m", "shop"]\n[pages]\nshop = "/"\n'
    )
    project = read_project(tmp_path)
    assert (project.name, project.config, project.pages) == ("Shop", tmp_path / "bus.json", {"shop": "/"})
    assert project.prepare == (sys.executable, "-m", "shop")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "localcloud.toml"),
        ("name = 1", "'name' must be a str"),
        ("color = 'red'", "'color' is an unknown key"),
        ("[prepare]\ncommand = 'python'", "'command' must be a list"),
        ("[prepare]\nfile = []", "'prepare.file' is an unknown key"),
        ("[pages]\nshop = 1", "'pages.shop' must be a str"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "localcloud.toml").write_text(text)
    with pytest.raises(ProjectError, match=said):
        read_project(tmp_path)


def test_a_command_joins_a_local_cloud_without_an_app(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / ".localcloud"
    command = [sys.executable, "-c", "import os; print(os.environ['COSMOS_ENDPOINT'])"]
    with data_folder(data, fresh=False):
        note_settings(data, {"COSMOS_ENDPOINT": "http://localhost:1"})
        assert main(["up", "--root", str(tmp_path), "--", *command]) == 0
    shown = capfd.readouterr().out
    assert "is already running (process " in shown
    assert "http://localhost:1\n" in shown
