"""Ends a child process when its parent ends for any reason.

The parent holds the write end of the child's standard input. When the parent dies, even by SIGKILL, the pipe
closes. The child then gets SIGTERM, and is killed if it does not end in time.
"""

import os
import signal
import threading
import time

LIFELINE_VARIABLE = "LOCALCLOUD_LIFELINE"
READY_PREFIX = "READY "
"""The prefix of the line with a service's addresses."""
FORCED_EXIT_SECONDS = 5.0


def hold_lifeline() -> None:
    """Watch standard input for its end, if the parent requested it."""
    if os.environ.get(LIFELINE_VARIABLE) == "stdin":
        threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(FORCED_EXIT_SECONDS)
    os._exit(1)
