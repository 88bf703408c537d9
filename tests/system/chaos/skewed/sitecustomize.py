"""Shift the app's clock in a process that is started with this folder on its path.

Only the clock of `Runtime` changes, which the whole app uses. The services keep the right time.
"""

import os
from datetime import UTC, datetime, timedelta

from shared.core.runtime import Runtime

OFF_BY = timedelta(seconds=float(os.environ["CLOCK_IS_OFF_BY"]))
_, *others = Runtime.__init__.__defaults__ or ()
Runtime.__init__.__defaults__ = (lambda: datetime.now(UTC) + OFF_BY, *others)
