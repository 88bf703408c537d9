"""Usage, settings and errors: one line, the right exit code, and no traceback."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.cli import app, main
from ops.command import Code, CommandError, setting_values
from ops.output import clean, print_json, write_export
from shared.core.times import format_duration
from tests.ops.commands import run_command
from tests.support.services import ROOT


def commands() -> Iterator[tuple[str, Any]]:
    """Return every command by its full name."""
    import typer.main  # noqa: PLC0415 - only here

    def walk(prefix: str, command: Any) -> Iterator[tuple[str, Any]]:
        for name, subcommand in command.commands.items():
            whole = f"{prefix}{name}"
            if hasattr(subcommand, "commands"):
                yield from walk(f"{whole} ", subcommand)
            else:
                yield whole, subcommand

    yield from walk("", typer.main.get_command(app))


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=[name for name, _ in commands()])
def test_every_command_and_option_has_help_and_json(name: str, command: Any) -> None:
    assert command.help, name
    options = {option for param in command.params for option in param.opts}
    assert "--json" in options
    assert all(getattr(param, "help", None) for param in command.params), name


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_stands_in_the_docs(name: str) -> None:
    page = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    assert f"`{name}" in page


def options_of(command: Any) -> set[str]:
    return {option for param in command.params for option in [*param.opts, *param.secondary_opts]}


def command_in(text: str) -> tuple[str, set[str]] | None:
    """Return the command at the start of a line, and its options."""
    known = {name: options_of(command) for name, command in commands()}
    name = max((name for name in known if f"{text} ".startswith(f"{name} ")), key=len, default=None)
    return None if name is None else (name, known[name])


def named_options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z-]+", text))


def operations_page() -> str:
    return (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")


def test_the_docs_name_no_command_or_option_that_is_not_there() -> None:
    typed = re.findall(r"^\s*python -m ops (?:--settings \S+ )?(.+)$", operations_page(), re.MULTILINE)
    assert len(typed) > 20
    for line in typed:
        found = command_in(line)
        assert found is not None, line
        assert named_options(line) <= found[1], line


def test_the_docs_give_commands_no_options_that_they_do_not_have_in_passing_either() -> None:
    spans = re.findall(r"`([a-z][^`]*)`", operations_page())
    with_options = [span for span in spans if command_in(span) and named_options(span)]
    assert with_options
    for usage in with_options:
        found = command_in(usage)
        assert found is not None
        assert named_options(usage) <= found[1], usage


def test_each_row_of_the_docs_table_has_options_of_its_commands_only() -> None:
    table = operations_page().partition("## Commands")[2].partition("## ")[0]
    rows = [row.split(" | ", 1) for row in re.findall(r"^\| (`.+) \|$", table, re.MULTILINE)]
    assert {name for first, _ in rows for name in re.findall(r"`([^`]+)`", first)} == {
        name for name, _ in commands()
    }
    for first, told in rows:
        known = set().union(*(command_in(name)[1] for name in re.findall(r"`([^`]+)`", first)))  # type: ignore[index] # the keys are known
        assert named_options(told) <= known, first


def test_the_docs_have_the_exit_codes() -> None:
    table = operations_page().partition("| exit code |")[2].partition("\n\n")[0]
    assert [int(match) for match in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [*Code]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dlq", "requeue"], "Give a queue, a --group or --all."),
        (["dlq", "purge", "--sequence", "3", "--all"], "Sequence numbers belong to one queue"),
        (
            ["dlq", "list", "--groups", "parser"],
            "there is no queue 'parser': it is one of ingestion, parsing",
        ),
        (["dlq", "requeue", "parsing", "--since", "yesterday"], "--since: 'yesterday' is not a time"),
        (["dlq", "requeue", "parsing", "--rate", "-1"], "Invalid value for '--rate'"),
        (["documents", "retry", "archives"], "Give ids, or --all"),
        (["dlq", "list", "--groups", "--group", "x"], "--groups lists the groups of whole queues."),
        (["documents", "list", "x", "--only", "stuck"], "Give an id, or --only and --collection."),
        (["archive", "progress", "x", "--why", "--follow"], "--why does not wait. Leave out --follow."),
        (["corrections", "list"], "Give a thread, or --labels"),
        (["corrections", "list", "t", "--labels"], "Give a thread, or --labels"),
        (["thread", "move", "t", "m", "--reason", "r"], "Give one of --to, --under, --split and --undo."),
        (["thread", "move", "t", "m", "--split", "--undo", "--reason", "r"], "Give one of --to, --under"),
        (["people", "s", "a@example.org", "b@example.org"], "Give --same or --different with addresses."),
        (["people", "s", "a@example.org", "b@example.org", "--same"], "Give a --reason for the decision."),
        (["source", "add", "s", "--dry-run"], "--dry-run needs --url."),
        (["sweep"], "The app sweeps by itself. Use --once to run one sweep now."),
        (["dlq", "grups"], "No such command 'grups'"),
        (["--settings", "/nowhere.json", "status"], "/nowhere.json: the settings cannot be read"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], said: str) -> None:
    ended = run_command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)
    assert ended.err.count("\n") == 1


def test_missing_settings_are_all_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("COSMOS_ENDPOINT", "SEARCH_ENDPOINT", "SERVICEBUS_CONNECTION", "STORAGE_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    ended = run_command("status")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert {"COSMOS_ENDPOINT", "SEARCH_ENDPOINT"} <= set(ended.err.replace(":", " ").split())


def test_a_service_that_does_not_answer_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    values = {
        "COSMOS_ENDPOINT": "http://127.0.0.1:9",
        "COSMOS_KEY": "a2V5",
        "SEARCH_ENDPOINT": "https://127.0.0.1:9",
        "SEARCH_KEY": "k",
        "STORAGE_CONNECTION": "UseDevelopmentStorage=true",
        "SERVICEBUS_CONNECTION": (
            "Endpoint=sb://localhost:9;SharedAccessKeyName=x;SharedAccessKey=eA==;UseDevelopmentEmulator=true;"
        ),
    }
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"Values": values}))
    ended = run_command("--settings", str(file), "dlq", "list", "--groups", "parsing")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err


def test_settings_come_from_the_environment_and_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert setting_values(None, {"A": "env"}) == {"A": "env"}
    (tmp_path / "local.settings.json").write_text('{"Values": {"A": "file", "SEARCH_CA_FILE": "tls/ca.pem"}}')
    assert setting_values(None, {"A": "env"}) == {"A": "env", "SEARCH_CA_FILE": "tls/ca.pem"}
    named = tmp_path / "sub" / "azure.env"
    named.parent.mkdir()
    named.write_text('# of azd\nA="azd"\n\nSEARCH_CA_FILE=ca.pem\n')
    assert setting_values(named, {"A": "env"}) == {"A": "azd", "SEARCH_CA_FILE": str(named.parent / "ca.pem")}
    named.write_text("nonsense\n")
    with pytest.raises(CommandError, match="line 1: not in the form NAME=value") as stopped:
        setting_values(named, {})
    assert stopped.value.code is Code.USAGE


def test_what_a_stranger_wrote_does_not_steer_the_terminal() -> None:
    assert clean("a\x1b[2J\x07b\u202ec\nd") == "a\ufffd[2J\ufffdb\ufffdc\nd"
    assert clean("\x9b2J \ud800") == "\ufffd2J \ufffd"


def test_json_holds_what_a_stranger_wrote_and_does_not_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hostile = {"subject": "\x9b2J\x7f\u202e\ud800 caf\xe9 \x1b[31m"}
    print_json(hostile)
    write_export("-", [hostile])
    shown = capsys.readouterr().out
    assert not set("\x9b\x7f\u202e\ud800\x1b") & set(shown)
    assert "caf\xe9" in shown
    assert json.loads(shown.splitlines()[-1]) == hostile
    write_export(str(tmp_path / "out.json"), [hostile])
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [hostile]


def test_an_error_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--settings", "\x1b[2J.json", "status"]) == Code.USAGE
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 s"), (59, "59 s"), (61, "1 min"), (7300, "2 h"), (3e5, "3 d")]
)
def test_a_span_of_time_is_shown_in_one_unit(value: float, text: str) -> None:
    assert format_duration(value) == text


def test_help_is_there_without_the_sdks() -> None:
    """Help starts fast, because a command imports azure only when it needs it."""
    script = (
        "import sys; from ops.cli import main; main(['dlq', '--help']);"
        "print(sorted(m for m in sys.modules if m.startswith(('azure', 'shared'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
