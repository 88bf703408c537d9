"""After the infrastructure: let people sign in, and make the search index, which Bicep cannot create."""

import sys
from pathlib import Path

from environment import in_environment, say, stop
from registration import complete

INDEX = Path(__file__).with_name("search_index.py")
UNREACHABLE = 3  # as search_index.py ends where the service does not let this machine in


def main() -> int:
    if ended := complete():
        return ended
    ended = in_environment([str(INDEX)])
    if ended == 0:
        say("The search index is there.")
        return 0
    if ended == UNREACHABLE:
        say("The search service is closed to this machine: make the index from inside the network, by")
        say(f"    python3 {INDEX.relative_to(Path.cwd())}")
        return 0
    return stop("The search index was not made: docs/deploy.md, Troubleshooting, says what to do.")


sys.exit(main())
