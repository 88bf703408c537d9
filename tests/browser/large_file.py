"""A file that the form sends in three parts."""

from pathlib import Path

from playwright.sync_api import Page

PART = 8 * 1024 * 1024


def large_mbox(folder: Path) -> Path:
    """Build messages with large attachments, which are not embedded."""
    filler = b"".join(
        b"From x@y.example Thu Jan  1 00:00:00 2026\nMessage-ID: <%d@big.example>\nFrom: a@y.example\n"
        b"Subject: number %d\nDate: Thu, 01 Jan 2026 00:00:00 +0000\nMIME-Version: 1.0\n"
        b"Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n%s\n"
        % (number, number, b"QSBsaW5lIG9mIGEgbGFyZ2UgYXR0YWNobWVudC4K\n" * 22_000)
        for number in range(20)
    )
    path = folder / "large.mbox"
    path.write_bytes(filler)
    assert 2 * PART < path.stat().st_size < 3 * PART
    return path


def send(page: Page, file: Path, source: str) -> None:
    page.goto("/operator/upload")
    page.locator("#upload").evaluate("form => { form.dataset.largest = '1'; }")
    page.get_by_label("List").fill(source)
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
