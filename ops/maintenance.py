"""`sweep`, `verify`, `reembed` and `resummarize`: work on all stored documents."""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import (
    Code,
    CommandError,
    DryRun,
    Interrupt,
    Json,
    Yes,
    actor,
    checked_input,
    run_audited,
    run_command,
)
from ops.output import answer, confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.models.records import Audit, Run
    from shared.operations.reembed import Reembedded


SHOWN_EXAMPLES = 20


def sweep(
    once: Annotated[bool, typer.Option("--once", help="Run one sweep now and exit.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Retry documents that are due. Mark documents without attempts left as failed.

    The app does this itself every RETRY_JOB_INTERVAL_SECONDS.
    """
    if not once:
        raise CommandError(Code.USAGE, "The app sweeps by itself. Use --once to run one sweep now.")

    async def work(clients: "Clients", counts: dict[str, int]) -> "Run | None":
        from shared.operations.sweep import Options
        from shared.operations.sweep import sweep as run_sweep

        done = await run_sweep(clients, Options(requested_by=actor().name, dry_run=dry_run))
        for collection in (done.counts if done else {}).values():
            for name in ("requeued", "given_up", "held_back"):
                counts[name] = counts.get(name, 0) + collection.get(name, 0)
        return done

    done = run_command(lambda clients: work(clients, {})) if dry_run else run_audited("sweep", {}, work)
    if done is None:
        raise CommandError(Code.FAILED, "Another sweep is running. Nothing was done.")
    _show_run(done, dry_run=dry_run, json=json)
    if done.errors:
        raise CommandError(Code.FAILED, "; ".join(done.errors))


def _show_run(done: "Run", *, dry_run: bool, json: bool) -> None:
    if json:
        return print_json(done.model_dump(mode="json", exclude={"etag"}))
    columns = ["waiting", "stuck", "failed", "requeued", "given_up", "held_back"]
    table(
        ["collection", *(f"{name.replace('_', ' ')}>" for name in columns)],
        [
            (name, *(f"{counts.get(column, 0):,}" for column in columns))
            for name, counts in done.counts.items()
        ],
        empty="Nothing to check.",
    )
    for name, why in done.circuits.items():
        print_note(f"{name}: their stage keeps failing ({why}). Only a few are requeued, as probes.")
    print_note("Nothing was done." if dry_run else f"Sweep {done.id} {done.status}.")
    return None


def reembed(
    *,
    delete_old: Annotated[
        bool, typer.Option("--delete-old", help="Delete the previous index once the new one is live.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Embed all mail again with the configured model.

    Searches use the old index until the new index is complete. If interrupted, run the same command again.
    """
    if not dry_run:
        confirm("Embed all chunks again with the configured model?", yes=yes)

    async def work(clients: "Clients", counts: dict[str, int]) -> "Reembedded":
        from shared.embedding.factory import embedder
        from shared.operations.reembed import reembed as run_reembed

        done = await run_reembed(
            clients,
            await embedder(clients),
            dry_run=dry_run,
            delete_old=delete_old,
            progress=lambda state: print_note(state.line()),
        )
        counts.update({"embedded": done.embedded, "failed": done.failed})
        return done

    done = run_command(lambda clients: work(clients, {})) if dry_run else run_audited("reembed", _model, work)
    todo = f"{done.outstanding:,} of {done.total:,} chunks would be embedded with {done.model}"
    planned = f"{todo} into index {done.index}, {_live(done)}. Nothing was done."
    answer(done.__dict__, planned if dry_run else f"{done.line()}, {_live(done)}.", json=json)
    if done.failed and not dry_run:
        raise CommandError(Code.PROBLEMS)


def _model(clients: "Clients") -> dict[str, str]:
    return {"model": clients.settings.EMBEDDING_MODEL}


def _live(state: "Reembedded") -> str:
    if state.switched or state.live_before == state.index:
        return "it is live"
    return f"live is {state.live_before}" if state.live_before else "no index is live"


def verify(
    archives: Annotated[
        bool, typer.Option(help="Parse the archives again and compare messages, threads and citations.")
    ] = True,
    repair: Annotated[bool, typer.Option("--repair", help="Repair damaged data.")] = False,
    recent: Annotated[
        bool,
        typer.Option(
            "--recent", help="Also check documents of the last hour. Use it when nothing is running."
        ),
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Check the stored data for damage. With --repair, repair it.

    Exit code 3: problems are left.
    """
    if repair:
        confirm("Repair the problems found? Work is requested again, and orphans are deleted.", yes=yes)

    async def work(clients: "Clients", counts: dict[str, int]) -> "Run":
        from shared.operations.integrity.run import GRACE, VerifyOptions
        from shared.operations.integrity.run import verify as run_checks

        grace = timedelta(0) if recent else GRACE
        options = VerifyOptions(repair=repair, archives=archives, grace=grace, requested_by=actor().name)
        done = await run_checks(clients, options)
        counts.update({kind: tally["repaired"] for kind, tally in done.counts.items() if tally["repaired"]})
        return done

    done = (
        run_audited("verify.repair", {}, work) if repair else run_command(lambda clients: work(clients, {}))
    )
    found = sum(counts["found"] for counts in done.counts.values())
    repaired = sum(counts["repaired"] for counts in done.counts.values())
    if json:
        print_json(done.model_dump(mode="json", exclude={"etag"}))
    else:
        _show_damage(done, found, repaired, repair=repair)
    if done.errors:
        raise CommandError(Code.FAILED, "; ".join(done.errors))
    if found > repaired:
        raise CommandError(Code.PROBLEMS)


def _show_damage(done: "Run", found: int, repaired: int, *, repair: bool) -> None:
    table(
        ["damage", "found>", "repaired>"],
        [
            (kind.replace("_", " "), f"{counts['found']:,}", f"{counts['repaired']:,}")
            for kind, counts in done.counts.items()
            if counts["found"]
        ],
        empty="No problems found.",
    )
    if not found:
        return
    table(
        ["damage", "container", "id", "detail*"],
        [
            (finding["kind"].replace("_", " "), finding["container"], finding["id"], finding["detail"])
            for finding in done.examples[:SHOWN_EXAMPLES]
        ],
        empty="",
    )
    print_note(_remedy(done, found, repaired, repair=repair))


def _remedy(done: "Run", found: int, repaired: int, *, repair: bool) -> str:
    from shared.operations.integrity.repair import REPAIRS

    if repair:
        return f"{found:,} found, {repaired:,} repaired."
    repairable = sum(counts["found"] for kind, counts in done.counts.items() if kind in REPAIRS)
    if repairable == found:
        return f"{found:,} found. Repair them with --repair."
    note = f"{found:,} found. " + (f"--repair repairs {repairable:,} of them. " if repairable else "")
    return f"{note}No command repairs the {'others' if repairable else 'damage'}. See the details."


def resummarize(
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]", help="One thread's id.")] = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="All threads of a list.")] = None,
    all_threads: Annotated[bool, typer.Option("--all", help="All threads.")] = False,
    rate: Annotated[float, typer.Option(metavar="NUMBER", help="Maximum number per second.")] = 20.0,
    resume: Annotated[
        str | None, typer.Option(metavar="OPERATION", help="Resume a stopped operation.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Create new summaries and reports of threads. Corrections are kept.

    Use it after a new release, with another model, or when a list's roles have changed. --resume continues a
    stopped operation.
    """
    interrupt = Interrupt()

    async def work(clients: "Clients") -> "Audit | None":
        from shared.azure.servicebus.dead_letter_mover import OperationObserver
        from shared.operations.background import (
            ThreadSelection,
            request_resummarizing,
            run_resummarizing,
            threads_left,
        )
        from shared.summarization.estimating import estimate_reading

        watch = OperationObserver(stopped=interrupt.stopped)
        if resume is not None:
            return await run_resummarizing(clients, resume, watch=watch)
        with checked_input():
            selection = ThreadSelection(thread=thread, source=source, all=all_threads, rate=rate)
        threads = await threads_left(clients, selection, "")
        count, cost = len(threads), await estimate_reading(clients, threads)
        costs = f" The chat model: {cost}." if cost else ""
        if dry_run:
            estimated = {"estimate": asdict(cost)} if cost else {}
            planned = {"action": "resummarize", "dry_run": True, "planned": count, **estimated}
            answer(planned, f"{count:,} threads would be read again.{costs} No changes made.", json=json)
            return None
        confirm(f"Read {count:,} threads again?{costs}", yes=yes or thread is not None)
        audit = await request_resummarizing(clients, selection, actor(), in_background=False)
        print_note(f"operation {audit.id}")
        return await run_resummarizing(clients, audit.id, watch=watch)

    _end(run_command(work, interrupt=interrupt, changes=not dry_run), json=json)


def _end(audit: "Audit | None", *, json: bool) -> None:
    if audit is None:
        return
    waiting = audit.counts.get("waiting", 0)
    more = f" ({waiting:,} follow when their messages are processed)" if waiting else ""
    counts = {"operation": audit.id, "action": audit.action, "status": audit.status, **audit.counts}
    note = f"{audit.counts.get('requested', 0):,} threads are being read again{more}."
    answer({**counts, "outcome": audit.outcome}, note, json=json)
    if audit.status == "interrupted":
        raise CommandError(Code.INTERRUPTED, f"Stopped. Resume with: resummarize --resume {audit.id}")
