"""An archive's page, built from its progress alone."""

import pytest

from shared.models.sources import Archive
from shared.pipeline.progress import ArchiveProgress, StageProgress
from shared.pipeline.topology import STAGES
from tests.stages.mail_in import archive_of
from tests.web.markup import Page, check
from web.rendering import render


def archive(**more: object) -> Archive:
    return archive_of(b"x").model_copy(update=more)


def progress(status: str = "processed", done: int = 1, failed: int = 0, skipped: int = 0) -> ArchiveProgress:
    stages = [StageProgress(row.name, "thread", done, 2, failed) for row in STAGES[1:]]
    return ArchiveProgress("a", status, skipped, (StageProgress("parsing", "archive", 1, 1), *stages))


def shown(found: ArchiveProgress, of: Archive | None = None) -> Page:
    return check(
        render("pages/archive.html", path="/", query="", archive=of or archive(), progress=found, note=None)
    )


def test_an_archive_under_way_has_bars_a_script_and_without_scripts_a_reload() -> None:
    page = shown(progress())
    assert len(page.own_scripts) == 1
    (reload,) = [meta for meta in page.all("meta") if "http-equiv" in meta.attributes]
    assert reload.attributes == {"http-equiv": "refresh", "content": "5"}
    assert "In progress" in page.text
    assert "1 of 2 threads" in page.text
    assert [bar.attributes["value"] for bar in page.all("progress")][1:] == ["1"] * 6


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (progress(done=2), "All threads are reported."),
        (progress(done=1, failed=1), "All threads are reported, with the gaps listed below."),
        (progress("failed", done=0), "This archive could not be read."),
        (progress("failed_max_retries", done=0), "This archive could not be read."),
    ],
)
def test_an_archive_that_is_done_or_failed_asks_no_more(found: ArchiveProgress, said: str) -> None:
    page = shown(found, archive(lastError="UnreadableArchiveError: <b>no</b>"))
    assert page.own_scripts == []
    assert said in page.text


def test_gaps_are_named() -> None:
    page = shown(
        progress(done=1, failed=1, skipped=3),
        archive(skipped=[{"index": 0, "offset": 12, "size": 5, "reason": "too large <x>"}]),
    )
    assert "3 messages could not be read in the archive" in page.text
    assert "1 thread could not be reported" in page.text
    assert "too large <x>, at byte 12" in page.text
