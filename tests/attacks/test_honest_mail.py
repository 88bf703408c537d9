"""Real mail of honest people has hardly any flags, and hardly any of its visible words count as hidden."""

import io

import pytest

from shared.mail.models import ParsedMail
from shared.mail.parse import parse_archive
from shared.models.values import Preset, SourceProfile
from tests.record.forgery_record import InMemoryRecord
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive

ARCHIVES = {
    Preset.GIT: ("mail/git-2023-12.mbox.gz", "mail/git-2024-01.mbox.gz", "consensus/git.mbox"),
    Preset.THREEGPP: ("mail/3gpp-evs.mbox",),
    Preset.IETF: ("consensus/ietf.mbox", "calls/ietf.mbox"),
    Preset.APACHE: ("calls/apache-maven.mbox",),
    Preset.FREE: (
        "mail/numpy-discussion-2001-11.mbox",
        "consensus/w3c.mbox",
        "consensus/twisted-python.mbox",
        "consensus/jack-devel.mbox",
    ),
}
MOST_FLAGGED, MOST_HIDDEN = 0.02, 0.005


def contents() -> list[tuple[Preset, bytes]]:
    folder = data_folder()
    assert folder is not None
    found: list[tuple[Preset, bytes]] = []
    for preset, names in ARCHIVES.items():
        for name in names:
            with open_archive(folder.parent / name) as stream:
                found.append((preset, stream.read()))
    return found


pytestmark = [pytest.mark.slow, pytest.mark.skipif(data_folder() is None, reason=WHY_SKIPPED)]


def test_flags_are_on_few_threads_of_honest_mail() -> None:
    flagged = total = 0
    for number, (preset, content) in enumerate(contents()):
        record = InMemoryRecord({str(number): SourceProfile(preset)})
        record.take_in(str(number), content)
        threads = record.threads(str(number)).values()
        total += len(threads)
        flagged += sum(bool(thread.flags) for thread in threads)
    assert total > 400
    assert flagged <= total * MOST_FLAGGED


def test_few_words_of_honest_html_count_as_hidden() -> None:
    mails = [
        mail
        for _, content in contents()
        for mail in parse_archive(io.BytesIO(content))
        if isinstance(mail, ParsedMail) and mail.body_html
    ]
    shown = sum(len(mail.body_raw.split()) for mail in mails)
    hidden = sum(len(mail.hidden_text.split()) for mail in mails)
    assert shown > 0
    assert hidden <= (shown + hidden) * MOST_HIDDEN
