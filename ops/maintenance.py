"""`sweep` and `reembed`: work on all stored documents."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import DryRun, Json, Yes
from ops.output import confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.records import Run
    from shared.upkeep.reembed import Reembedded


def sweep(
    once: Annotated[bool, typer.Option("--once", help="Run one sweep now and exit.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Ask again for documents that are due, and give up those at their last attempt.

    The app does so every RETRY_JOB_INTERVAL_SECONDS by itself.
    """
    if not once:
        raise CommandError(Code.USAGE, "The app sweeps by itself; --once runs one sweep now.")

    async def work(clients: "Clients") -> "Run | None":
        from shared.upkeep.audit import audited
        from shared.upkeep.sweep.run import Options
        from shared.upkeep.sweep.run import sweep as run_sweep

        if dry_run:
            return await run_sweep(clients, Options(requested_by=actor().name, dry_run=True))
        async with audited(clients, "sweep", actor(), {}) as counts:
            done = await run_sweep(clients, Options(requested_by=actor().name))
            for collection in (done.counts if done else {}).values():
                for name in ("requeued", "given_up", "held_back"):
                    counts[name] = counts.get(name, 0) + collection.get(name, 0)
            return done

    done = run_command(work)
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
        print_note(f"{name}: their stage fails all the time ({why}): only a few are asked for, as a probe.")
    print_note("Nothing was done." if dry_run else f"Sweep {done.id} {done.status}.")
    return None


def reembed(
    *,
    delete_old: Annotated[
        bool, typer.Option("--delete-old", help="Delete the index that was live before, once the new one is.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Embed everything again with the model of the settings, into an index of its own, and go live with it.

    Searches use the old index until then. Broken off, the same command goes on.
    """
    if not dry_run:
        confirm("Embed all chunks again with the model of these settings?", yes=yes)

    async def work(clients: "Clients") -> "Reembedded":
        from shared.embedding.factory import open_embedder
        from shared.upkeep.audit import audited
        from shared.upkeep.reembed import reembed as run_reembed

        model = await open_embedder(clients.settings)
        try:
            if dry_run:
                return await run_reembed(clients, model, dry_run=True)
            async with audited(clients, "reembed", actor(), {"model": model.model}) as counts:
                done = await run_reembed(
                    clients, model, delete_old=delete_old, progress=lambda state: print_note(state.line())
                )
                counts.update({"embedded": done.embedded, "failed": done.failed})
            return done
        finally:
            await model.close()

    done = run_command(work)
    if json:
        print_json(done.__dict__)
    else:
        print_note(_planned_line(done) if dry_run else f"{done.line()}; {_live(done)}.")
    if done.failed and not dry_run:
        raise CommandError(Code.PROBLEMS)


def _planned_line(planned: "Reembedded") -> str:
    todo = f"{planned.outstanding:,} of {planned.total:,} chunks would be embedded with {planned.model}"
    return f"{todo} into index {planned.index}; {_live(planned)}. Nothing was done."


def _live(state: "Reembedded") -> str:
    if state.switched or state.live_before == state.index:
        return "it is live"
    return f"live is {state.live_before}" if state.live_before else "no index is live"
