"""The samples have recorded answers to the app's prompts, and these answers pass the checks."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from evaluation.consensus_corpus import read_profile, thread_mail_of
from shared.mail.models import Skipped
from shared.mail.parse import parse_archive
from shared.model_reading.answer import parse_answer
from shared.model_reading.combined import combine
from shared.model_reading.numbered import number_thread
from shared.models.values import ThreadReading
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread
from tests.model_reading.threads import RUN
from tools.chat_replay import key_of
from tools.recorded_model import main

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
RECORDED = SAMPLES / "recorded"


def sample_threads() -> Iterator[tuple[LinkedThread, list[ThreadMail], str]]:
    sources = {one["name"]: one for one in json.loads((SAMPLES / "sources.json").read_text(encoding="utf-8"))}
    for file in sorted(SAMPLES.glob("*.mbox")):
        with file.open("rb") as stream:
            mails = [thread_mail_of(one) for one in parse_archive(stream) if not isinstance(one, Skipped)]
        threads: dict[str, list[ThreadMail]] = {}
        root: dict[str, str] = {}
        for mail in sorted(mails, key=lambda one: (one.date is None, one.date)):
            above = next((root[one] for one in (mail.reply_to, *mail.references) if one in root), None)
            root[mail.message_id] = above or mail.message_id
            threads.setdefault(root[mail.message_id], []).append(mail)
        for thread in threads.values():
            yield LinkedThread(thread, read_profile(sources[file.stem])), thread, thread[0].subject


def read_recorded(thread: LinkedThread, mails: list[ThreadMail], subject: str) -> ThreadReading:
    (part,) = number_thread(thread, subject, room=12_000).parts
    messages = [{"role": "system", "content": part.system}, {"role": "user", "content": part.user}]
    answer = RECORDED / f"{key_of({'messages': messages})}.answer.json"
    assert answer.exists(), f"the prompt of {subject!r} has changed: record its answer anew"
    given = parse_answer(answer.read_text(encoding="utf-8"))
    return combine(thread, subject, read_thread(mails, thread.profile), given, RUN)


def test_every_sample_thread_has_a_recorded_answer_that_passes_the_checks() -> None:
    readings = [read_recorded(*one) for one in sample_threads()]
    assert len(readings) == len(list(RECORDED.glob("*.answer.json"))) >= 12
    models = [one.model for one in readings if one.model is not None]
    told = [sentence for model in models for sentence in model.narrative]
    assert len(told) >= 25
    assert sum(not one.is_borne for one in told) <= 3
    refused = [cause for model in models for cause in model.refused if cause.startswith("sentence")]
    assert len(refused) <= 1


def test_a_command_runs_with_an_endpoint_that_answers(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    code = (
        "import json, os, sys, urllib.request\n"
        "asked = json.dumps({'messages': [], 'model': 'x'}).encode()\n"
        "url = os.environ['SUMMARY_ENDPOINT'] + '/chat/completions'\n"
        "answer = json.loads(urllib.request.urlopen(urllib.request.Request(url, asked)).read())\n"
        "open(sys.argv[1], 'w').write(os.environ['SUMMARY_MODEL'] + repr(answer['choices'][0]['message']))\n"
    )
    before = set(RECORDED.iterdir())
    assert main(str(RECORDED), sys.executable, "-c", code, str(seen)) == 0
    assert seen.read_text(encoding="utf-8") == "a recorded answer{'role': 'assistant', 'content': ''}"
    assert set(RECORDED.iterdir()) == before  # nothing is written there
