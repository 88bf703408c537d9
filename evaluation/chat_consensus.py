"""Score a chat model on labeled threads: `make evaluate SUMMARY_ENDPOINT=... SUMMARY_MODEL=...`.

Lets the model read each labeled thread through the client, prompt and checks that ship. Scores the stored
result with the labels' own measures, and prints the cost. Readings are saved by model, so that an interrupted
run continues.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.consensus import prediction_of, print_table, score_corpus
from evaluation.consensus_corpus import CorpusError, LabelledThread, read_corpus
from evaluation.consensus_scores import figures
from evaluation.data import MissingDataError, corpus_files
from shared.azure.openai_client import Endpoint, OpenAIClient
from shared.core.errors import PipelineError
from shared.model_reading.answer import ANSWER_SCHEMA
from shared.reading.reader import read_thread
from shared.settings.app import SettingsError, chat_settings
from shared.summaries.models import ThreadContext
from shared.summarization.summarizers import ChatSettings, ChatSummarizer, answer_token_limit

_UNSAFE = re.compile(r"[^\w.-]+")


def context_of(labelled: LabelledThread, window: int) -> ThreadContext:
    """Build a labeled thread as the stage would load it, without chunks. The reading does not use chunks."""
    return ThreadContext(
        thread_id=labelled.label["thread"],
        subject=labelled.mails[0].subject,
        messages=[],
        chunks=[],
        reading=read_thread(labelled.mails, labelled.profile),
        mails=labelled.mails,
        profile=labelled.profile,
        context_window_tokens=window,
    )


async def read_with(
    client: OpenAIClient,
    settings: ChatSettings,
    threads: Sequence[LabelledThread],
    *,
    window: int,
    kept: Path,
) -> list[dict[str, Any]]:
    """Return the reading of each thread and its cost. Threads with a saved reading are not sent again."""
    summarizer = ChatSummarizer(client, settings, lambda: datetime.now(UTC))
    results = []
    for number, labelled in enumerate(threads, 1):
        name = labelled.label["thread"]
        file = kept / f"{_UNSAFE.sub('_', name)}.json"
        if not await asyncio.to_thread(file.exists):
            made = await summarizer.summarize(context_of(labelled, window))
            model = made.reading.model
            result = {
                "prediction": prediction_of(name, made.reading),
                "tokens": [made.tokens.prompt, made.tokens.completion],
                "refused": list(model.refused) if model else [],
                "notes": list(made.notes) if model is None else [],
            }
            await asyncio.to_thread(_keep, file, result)
        print(f"\r{number} of {len(threads)}", end="", file=sys.stderr, flush=True)
        results.append(json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8")))
    print(file=sys.stderr)
    return results


def _keep(file: Path, result: dict[str, Any]) -> None:
    """Replace the file atomically, because a run may be interrupted at any time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")
    unfinished.replace(file)


def report(title: str, threads: Sequence[LabelledThread], results: Sequence[Mapping[str, Any]]) -> None:
    scored = score_corpus(threads, [result["prediction"] for result in results])
    print_table(title, scored)
    print(json.dumps(figures([result.row for result in scored]), indent=1))
    refused = Counter(reason.partition(" (mail")[0] for result in results for reason in result["refused"])
    print(
        "refused: " + (", ".join(f"{reason} {count}" for reason, count in refused.most_common()) or "nothing")
    )
    alone = sum(bool(result["notes"]) for result in results)
    prompt, completion = (sum(result["tokens"][side] for result in results) for side in (0, 1))
    print(
        f"{alone} of {len(results)} threads were read by rules alone; {prompt} tokens in, {completion} out, "
        f"{(prompt + completion) / max(1, len(results)):.0f} a thread"
    )


async def _run(folders: Sequence[Path], kept: Path) -> None:
    given = chat_settings(os.environ)
    key = given.SUMMARY_API_KEY
    client = OpenAIClient(
        Endpoint(
            given.SUMMARY_ENDPOINT or "",
            is_azure=given.SUMMARY_BACKEND == "azureopenai",
            api_key=key.get_secret_value() if key else None,
        )
    )
    settings = ChatSettings(
        given.SUMMARY_MODEL,
        answer_tokens=answer_token_limit(given.SUMMARY_CONTEXT_TOKENS),
        timeout_seconds=given.SUMMARY_TIMEOUT_SECONDS,
        answer_schema=ANSWER_SCHEMA,
    )
    try:
        for folder in folders:
            threads = read_corpus(folder)
            place = kept / _UNSAFE.sub("_", given.SUMMARY_MODEL) / folder.name
            results = await read_with(
                client, settings, threads, window=given.SUMMARY_CONTEXT_TOKENS, kept=place
            )
            report(f"{folder.name}, read by {given.SUMMARY_MODEL}", threads, results)
    finally:
        await client.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.chat_consensus", description=__doc__)
    parser.add_argument("--labels", type=Path, help="a folder with mboxes, labels.json and roles.json")
    parser.add_argument("--kept", type=Path, default=Path("build/evaluation"), help="where readings are kept")
    options = parser.parse_args(arguments)
    try:
        folders = (
            [options.labels] if options.labels else [file.parent for file in corpus_files("c*/labels.json")]
        )
        asyncio.run(_run(folders, options.kept))
    except (CorpusError, MissingDataError, SettingsError, PipelineError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
