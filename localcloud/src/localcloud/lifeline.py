"""Ends a child process when its parent goes, however it goes.

The parent holds the write end of the child's standard input; when the parent dies, SIGKILL included, the
pipe closes and the child ends: first as if by SIGTERM, then by force if it does not manage in time.
"""

import os
import signal
import threading
import time

LIFELINE_VARIABLE = "LOCALCLOUD_LIFELINE"
READY_PREFIX = "READY "
"""Starts the line in which a service says where it listens."""
FORCED_EXIT_SECONDS = 5.0


def hold_lifeline() -> None:
    """Watch standard input for its end, if the parent asked for that."""
    if os.environ.get(LIFELINE_VARIABLE) == "stdin":
        threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(FORCED_EXIT_SECONDS)
    os._exit(1)
