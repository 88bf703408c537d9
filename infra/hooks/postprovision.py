"""After provisioning: enable sign-in, and create the search index, which Bicep cannot create."""

import sys
from pathlib import Path

from environment import in_environment, say, stop
from registration import complete

INDEX = Path(__file__).with_name("search_index.py")
UNREACHABLE = 3  # the exit code of search_index.py if the service rejects this machine


def main() -> int:
    if ended := complete():
        return ended
    ended = in_environment([str(INDEX)])
    if ended == 0:
        say("The search index is ready.")
        return 0
    if ended == UNREACHABLE:
        say("This machine cannot reach the search service. Create the index from inside the network:")
        say(f"    python3 {INDEX.relative_to(Path.cwd())}")
        return 0
    return stop("The search index was not created: see docs/deploy.md, Troubleshooting.")


sys.exit(main())
