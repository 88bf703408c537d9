"""Patches in mail: whole diffs in color, trailers as a list, and unchanged code and tables."""

import time

import pytest

from shared.models.threads import Message
from tests.web.markup import Page, check
from tests.web.pages.test_thread_page import message, summary, thread
from web.pages.message_body import Block, TextMark, body_blocks
from web.pages.patch_text import diffs_in, looks
from web.pages.thread_view import ThreadPageData, thread_values
from web.rendering import render

DIFF = """diff --git a/parser.c b/parser.c
index 1234567..89abcde 100644
--- a/parser.c
+++ b/parser.c
@@ -1,5 +1,5 @@ int parse(void)
 int line;

--- an old comment
+-- a new comment
 > file
 done
"""
PATCH = f"""Keep the last line.

It was lost.

Reviewed-by: Ann Example <ann@example.org>
Signed-off-by: Bo Example <bo@example.org>
 (my other address)
---
 parser.c | 2 +-
 1 file changed

{DIFF}
--\x20
2.43.0
"""


def kinds(mail: Message) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in body_blocks(mail)]


def page_of(*messages: Message) -> Page:
    values = thread_values(ThreadPageData(thread(message_count=len(messages)), list(messages)))
    return check(render("pages/thread.html", path="/", query="", **values))


def test_a_hunk_is_whole_whatever_its_lines_look_like() -> None:
    found = kinds(message(0, PATCH))
    assert [kind for kind, _ in found] == ["prose", "prose", "trailers", "code", "diff", "signature"]
    assert dict(found)["diff"] == DIFF.rstrip("\n")


def test_what_stands_between_a_patch_and_its_diff_keeps_its_lines() -> None:
    names = (
        "Published-As: https://example.org/releases/tag/one-and-two\nPull-Request: https://example.org/pull/1"
    )
    files = " builtin/a-file-with-a-long-name.c |  16 +++++++-\n t/another-file-with-a-long-name.sh | 28 ++++\n 2 files"
    found = kinds(message(0, f"Words.\n\n{names}\n\n{files}\n\nWell-known: this is prose."))
    assert [kind for kind, _ in found] == ["prose", "trailers", "code", "prose"]


def test_lines_of_a_diff_have_their_looks_and_a_removed_comment_is_no_file() -> None:
    shown = [(DIFF[first:last].splitlines()[0], look) for first, last, look in looks(DIFF)]
    assert shown == [
        ("diff --git a/parser.c b/parser.c", "file"),
        ("@@ -1,5 +1,5 @@ int parse(void)", "hunk"),
        (" int line;", ""),
        ("--- an old comment", "removed"),
        ("+-- a new comment", "added"),
        (" > file", ""),
    ]


def test_trailers_are_a_list_and_diffs_are_in_colour_on_the_page() -> None:
    page = page_of(message(0, PATCH))
    (trailers,) = page.all("ul", class_="trailers")
    assert "Ann Example <ann@example.org>" in trailers.text
    assert len([row for row in page.all("li") if "-by: " in row.text]) == 2
    assert [element.text for element in page.all("span", class_="added")] == ["+-- a new comment\n"]
    assert [element.text for element in page.all("span", class_="removed")] == ["--- an old comment\n"]


def test_a_trailer_that_is_cited_keeps_its_mark() -> None:
    mail = message(0, PATCH)
    start = PATCH.index("Reviewed-by")
    mark = TextMark(start, start + len("Reviewed-by: Ann Example"), ("c1",))
    (block,) = [block for block in body_blocks(mail, [mark]) if block.kind == "trailers"]
    assert [(run.text, bool(run.mark)) for run in block.rows[0]] == [
        ("Reviewed-by: Ann Example", True),
        (" <ann@example.org>", False),
    ]


def test_a_diff_that_is_quoted_stays_a_quote() -> None:
    quoted = "".join(f"> {line}" for line in DIFF.splitlines(keepends=True))
    assert [kind for kind, _ in kinds(message(0, f"Why?\n\n{quoted}\nSee above."))] == [
        "prose",
        "quote",
        "prose",
    ]


@pytest.mark.parametrize(
    "text", ["--- a list\n+++ of words", "diff of opinions\nis fine", "@@ -1 +1 @@", "Index: none"]
)
def test_words_alone_are_no_diff(text: str) -> None:
    assert diffs_in(f"{text}\nMore.") == []


def test_code_between_fences_and_a_table_with_blank_lines_stay_whole() -> None:
    code = "```\nfirst\n\n  second\n```"
    table = "Name   Size\n\nfoo    12"
    found = kinds(message(0, f"Before.\n\n{code}\n\nBetween.\n\n{table}\n\nAfter."))
    assert ("code", code) in found
    assert ("code", table) in found
    assert [kind for kind, _ in found] == ["prose", "code", "prose", "code", "prose"]


def test_every_word_is_shown_once_and_in_order() -> None:
    blocks: list[Block] = body_blocks(message(0, PATCH))
    assert "".join("".join(block.text for block in blocks).split()) == "".join(PATCH.split())


def test_versions_in_a_thread_are_linked() -> None:
    messages = [
        message(0, subject="[PATCH] parser: keep the last line"),
        message(1, answers=0),
        message(2, answers=0, subject="[PATCH v2] parser: keep the last line"),
    ]
    page = page_of(*messages)
    links = {link.text: link.attributes["href"] for link in page.all("a")}
    assert (links["v1"], links["v2"]) == (f"#m-{messages[0].id}", f"#m-{messages[2].id}")


@pytest.mark.parametrize(
    "line", ["@@ -1,999999999 +1,999999999 @@\n", "diff --git a b\n", "```\n", "--- a\n+++ b\n", "Cc: x\n "]
)
def test_crafted_patches_are_shown_in_no_time(line: str) -> None:
    text = line * (400_000 // len(line))
    started = time.process_time()
    made = summary([message(1)], (0, "Some words."))
    thread_values(ThreadPageData(thread(message_count=1), [message(0, text)], made))
    assert time.process_time() - started < 5
