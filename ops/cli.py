"""The command line: all commands, and how their errors are reported."""

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
    audit,
    corrections,
    dlq,
    documents,
    maintenance,
    people,
    reports,
    sources,
    status,
    subscriptions,
    threads,
    timeline,
)
from ops import deletion as deleting
from ops import resummarize as rereading
from ops import search as searching
from ops import verify as verifying
from ops.command import GLOBAL_OPTIONS
from ops.exit_codes import Code, CommandError
from ops.output import clean

HELP = """Operate Rough Consensus: see what is stuck and why, and repair it.

Data goes to standard output (--json everywhere), all else to standard error. Exit codes: 0 done, 1 failed,
2 wrong usage or settings, 3 problems were found or something is left, 130 interrupted.
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
app.command("status")(status.status)
app.add_typer(dlq.app, name="dlq")
app.add_typer(documents.app, name="documents")
app.command("sweep")(maintenance.sweep)
app.command("verify")(verifying.verify)
app.command("resummarize")(rereading.resummarize)
app.add_typer(corrections.app, name="corrections")
app.add_typer(threads.app, name="thread")
app.add_typer(people.app, name="people")
app.add_typer(subscriptions.app, name="subscription")
app.command("reembed")(maintenance.reembed)
archives.app.command("delete")(deleting.delete_archive)
app.add_typer(archives.app, name="archive")
sources.app.command("delete")(deleting.delete_source)
app.add_typer(sources.app, name="source")
app.command("search")(searching.search)
app.command("report")(reports.report)
app.command("timeline")(timeline.timeline)
app.command("audit")(audit.audit)


@app.callback()
def options(
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Settings: a local.settings.json, or lines NAME=value.", show_default=False
        ),
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
        said = getattr(error, "format_message", error.__str__)()
        return _print_error(Code.USAGE, f"{said} See --help." if said else "")
    except (KeyboardInterrupt, asyncio.CancelledError, typer.Abort):
        return _print_error(Code.INTERRUPTED, "interrupted")
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # else Python reports the broken pipe when it flushes at exit
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
    from shared.clients.classify import classify
    from shared.core.errors import PipelineError

    failure = classify(error)
    if isinstance(error, PipelineError):
        return failure.message
    return f"{failure.error_type}: {failure.message}"
