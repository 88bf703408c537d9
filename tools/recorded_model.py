"""Runs a command with recorded answers in place of a chat model.

`python -m tools.recorded_model DIR COMMAND ...`: the answers are found by the hash of their prompt
(`tools.chat_replay`). A thread without an answer is read by rules. The model's name says that the answers
are recorded, and stands with everything that the model reads.
"""

import json
import os
import subprocess
import sys

MODEL = "a recorded answer"


def main(folder: str, *command: str) -> int:
    serve = [sys.executable, "-m", "tools.chat_replay", folder, "--recorded"]
    with subprocess.Popen(  # noqa: S603 - our own module
        serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as endpoint:
        if endpoint.stdin is None or endpoint.stdout is None:
            return 1
        url = json.loads(endpoint.stdout.readline())["url"]
        settings = {"SUMMARY_ENDPOINT": url, "SUMMARY_MODEL": MODEL}
        try:
            return subprocess.run(command, env={**os.environ, **settings}, check=False).returncode  # noqa: S603
        finally:
            endpoint.stdin.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:  # noqa: PLR2004
        sys.exit(f"usage: {sys.argv[0]} DIR COMMAND ...")
    sys.exit(main(*sys.argv[1:]))
