"""`source`: the sources of archives."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import (
    Code,
    CommandError,
    Json,
    actor,
    checked_input,
    run_audited,
    run_command,
    shared_options,
)
from ops.output import ago, answer, fields, print_json, print_note, print_rows

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.ingestion.source_definitions import SourceDefinition
    from shared.models.sources import Source

app = typer.Typer(help="Sources: where archives are fetched from.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The source's name.")]
Type = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="upload, http, index, public-inbox, rsync, imap or local."),
]
Url = Annotated[str | None, typer.Option(metavar="URL", help="Its address.")]
Schedule = Annotated[
    str | None, typer.Option(metavar="CRON", help="NCRONTAB in UTC, such as '0 30 4 * * *'; '' for none.")
]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether the schedule is active.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--setting", metavar="NAME=VALUE", help="Such as username_setting=SOURCE_SECRET_USER"),
]
PresetOption = Annotated[
    str | None,
    typer.Option("--preset", metavar="PRESET", help="The decision process: ietf, git, apache, 3gpp or free."),
]
Role = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ADDRESS=ROLE[,FROM[,UNTIL]]",
        help="Who decides, such as ann@example.org=chair,2024-01-31; '' for none. Replaces all roles.",
    ),
]
ReadGiven = Callable[[], dict[str, Any]]
MAX_WRITE_ATTEMPTS = 5  # optimistic concurrency: a fetch writes to the same source
_PERIOD = ("from", "until")
HIDDEN = {"etag", "id", "schema_version", "attemptCount", "lastAttemptTime", "lastError"}


@app.command("list")
def list_(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this source.")] = None,
    json: Json = False,
) -> None:
    """List all sources, or show one."""
    if name is not None:
        shown = _shown(run_command(lambda clients: _find_source(clients, name)))
        return print_json(shown) if json else fields(shown.items())

    async def work(clients: "Clients") -> "list[Source]":
        from shared.azure.cosmos.session import Session
        from shared.models.queries.operations import ALL_SOURCES
        from shared.models.sources import Source

        return await clients.store.query_documents(Source, ALL_SOURCES, Session())

    return print_rows(
        run_command(work),
        ["name", "type", "on", "schedule", "fetched>", "next", "url*"],
        lambda source: (
            source.name, source.source_type, "yes" if source.enabled else "no", source.schedule or "-",
            ago(source.last_success_at),
            f"{source.next_fetch_at:%m-%d %H:%M}" if source.next_fetch_at else "-",
            f"{source.url}{'  ! ' + source.last_fetch_error if source.last_fetch_error else ''}",
        ),
        empty="No sources. Define one with `source add`.",
        shown=_shown if json else None,
    )  # fmt: skip


def _given(
    source_type: Type = None,
    url: Url = None,
    schedule: Schedule = None,
    enabled: Enabled = None,
    setting: Setting = None,
    preset: PresetOption = None,
    role: Role = None,
) -> dict[str, Any]:
    options = {"source_type": source_type or None, "url": url, "enabled": enabled, "preset": preset}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if schedule is not None:
        given["schedule"] = schedule or None
    if setting:
        pairs = [pair.partition("=") for pair in setting]
        if any(not equals for _, equals, _ in pairs):
            raise CommandError(Code.USAGE, "--setting: must have the form NAME=VALUE")
        given["settings"] = {name: value for name, _, value in pairs}
    if role is not None:
        given["roles"] = [_role(text) for text in role if text]
    return given


def _role(text: str) -> dict[str, str]:
    person, equals, rest = text.partition("=")
    name, *days = rest.split(",")
    if not equals or len(days) > len(_PERIOD):
        raise CommandError(Code.USAGE, "--role: must have the form ADDRESS=ROLE[,FROM[,UNTIL]]")
    period = {key: day for key, day in zip(_PERIOD, days, strict=False) if day}
    return {"person": person, "role": name, **period}


@app.command()
@shared_options(read_given=_given)
def add(
    name: Name,
    read_given: ReadGiven,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the archive type at --url without adding a source.")
    ] = False,
    json: Json = False,
) -> None:
    """Define a source, or check its address with --dry-run."""
    given = {"source_type": "http", **read_given()}
    if dry_run:
        return _look(given.get("url"), json=json)

    async def work(clients: "Clients", counts: dict[str, int]) -> "Source":
        from shared.azure.cosmos.session import Session
        from shared.ingestion.source_definitions import source_of

        source = source_of(_checked({"name": name, **given}, clients), clients.runtime.now())
        if not await clients.store.create(source, Session()):
            raise CommandError(
                Code.FAILED, f"A source named {name!r} already exists. Use `source update` to change it."
            )
        counts["sources"] = 1
        return source

    return _print_source(run_audited("source.add", {"source": name}, work), "added", json=json)


def _look(address: str | None, *, json: bool) -> None:
    if address is None:
        raise CommandError(Code.USAGE, "--dry-run needs --url.")
    from shared.ingestion.recognising import recognise

    shown = asdict(run_command(lambda clients: recognise(address, clients)))
    if json:
        return print_json(shown)
    return fields(
        (name, ", ".join(value) if isinstance(value, tuple) else value) for name, value in shown.items()
    )


@app.command()
@shared_options(read_given=_given)
def update(name: Name, read_given: ReadGiven, json: Json = False) -> None:
    """Change a source. Omitted options keep their value."""
    given = read_given()

    async def work(clients: "Clients", counts: dict[str, int]) -> "Source":
        from shared.azure.cosmos.session import Session
        from shared.azure.cosmos.store import Conflict
        from shared.ingestion.source_definitions import definition_of, updated_source

        for _ in range(MAX_WRITE_ATTEMPTS):
            source = await _find_source(clients, name)
            defined = _checked({**definition_of(source), **given}, clients, changing=(source, given))
            changed = updated_source(source, defined, clients.runtime.now())
            stored = await clients.store.replace(changed, Session())
            if stored is not Conflict.CONFLICT:
                counts["sources"] = 1
                return stored
        raise CommandError(Code.FAILED, f"{name} is being changed. Try again.")

    _print_source(run_audited("source.update", {"source": name}, work), "changed", json=json)


@app.command()
def trigger(name: Name, json: Json = False) -> None:
    """Fetch a source now."""

    async def work(clients: "Clients", counts: dict[str, int]) -> Any:
        from shared.ingestion.fetch_runs import Requested, request_fetch

        for _ in range(MAX_WRITE_ATTEMPTS):
            source = await _find_source(clients, name)
            if source.source_type == "upload":
                raise CommandError(
                    Code.USAGE, f"{name} has nothing to fetch. Add archives with `archive ingest`."
                )
            now = clients.runtime.now()
            asked = await request_fetch(source, clients, requested_by=actor().name, now=now)
            if isinstance(asked, Requested):
                counts["fetches"] = int(asked.is_new)
                return asked
        raise CommandError(Code.FAILED, f"{name} is being changed. Try again.")

    asked = run_audited("source.trigger", {"source": name}, work)
    if json:
        print_json({"operation_id": asked.operation_id, "already_running": not asked.is_new})
    else:
        typer.echo(asked.operation_id)
        print_note("Requested." if asked.is_new else "A fetch is already running.")


async def _find_source(clients: "Clients", name: str) -> "Source":
    from shared.azure.cosmos.session import Session
    from shared.models.sources import Source

    source = await clients.store.find(Source, name, Session()) if name.isprintable() else None
    if source is None:
        raise CommandError(Code.FAILED, f"There is no source named {name!r}.")
    return source


def _checked(
    fields: dict[str, Any], clients: "Clients", changing: "tuple[Source, dict[str, Any]] | None" = None
) -> "SourceDefinition":
    from shared.ingestion.source_definitions import SourceDefinition, check_login_given, check_reachable

    with checked_input():
        defined = SourceDefinition.model_validate(fields)
        check_reachable(defined, clients.settings)
        if changing is not None:
            source, given = changing
            check_login_given(source, defined, given.get("settings"))
    return defined


def _shown(source: "Source") -> dict[str, Any]:
    return source.model_dump(mode="json", by_alias=True, exclude=HIDDEN)


def _print_source(source: "Source", what: str, *, json: bool) -> None:
    answer(_shown(source), f"{source.name} was {what}.", json=json)
