"""The command line: all commands, and the report of their errors."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ops import (
    archives,
    corrections,
    dlq,
    documents,
    erasure,
    exports,
    maintenance,
    reports,
    sources,
    status,
)
from ops.command import GLOBAL_OPTIONS, Code, CommandError
from ops.output import clean

HELP = """Operate Rough Consensus: find what is stuck or failed, and repair it.

Data goes to standard output (every command has --json), everything else to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 problems found or work left, 130 interrupted.
"""

app = typer.Typer(
    name="rough-consensus",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
GROUPS = {
    "dlq": dlq.app,
    "documents": documents.app,
    "corrections": corrections.app,
    "thread": corrections.threads,
    "subscription": reports.app,
    "archive": archives.app,
    "source": sources.app,
}
COMMANDS = (
    status.status, maintenance.sweep, maintenance.verify, maintenance.resummarize, corrections.people,
    maintenance.reembed, erasure.erase, exports.export, reports.search, reports.ask, reports.report,
    status.timeline, status.audit,
)  # fmt: skip
for command in COMMANDS:
    app.command(command.__name__)(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)
archives.app.command("import")(exports.import_)
sources.app.command("delete")(archives.delete_source)


@app.callback()
def options(
    settings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings: a local.settings.json, or lines NAME=value."),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show log lines, and where an error was raised.")
    ] = False,
) -> None:
    GLOBAL_OPTIONS.settings, GLOBAL_OPTIONS.debug = settings, debug
    level = logging.INFO if debug else logging.CRITICAL + 1
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", force=True)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        ended = app(args=arguments, standalone_mode=False)
    except CommandError as stop:
        return _print_error(stop.code, str(stop))
    except typer.TyperException as error:
        message = getattr(error, "format_message", error.__str__)()
        return _print_error(Code.USAGE, f"{message} See --help." if message else "")
    except (KeyboardInterrupt, asyncio.CancelledError, typer.Abort):
        return _print_error(Code.INTERRUPTED, "interrupted")
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # otherwise Python reports the broken pipe at exit
        return Code.FAILED
    except Exception as error:  # one line for the operator; --debug shows the traceback
        if GLOBAL_OPTIONS.debug:
            raise
        return _print_error(Code.FAILED, _one_line(error))
    return int(ended or Code.OK)


def _print_error(code: Code, message: str) -> int:
    if message:
        sys.stderr.write(f"{clean(message)}\n")
    return int(code)


def _one_line(error: Exception) -> str:
    from shared.azure.classify import classify
    from shared.core.errors import PipelineError

    failure = classify(error)
    if isinstance(error, PipelineError):
        return failure.message
    return f"{failure.error_type}: {failure.message}"
