"""Command line: `python -m localcloud.search` starts the local AI Search."""

import gc
import os

# Each search multiplies one matrix, which is fastest on one thread, and searches run in parallel. numpy reads
# this variable when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from localcloud.search.service import ADMIN_KEY, QUERY_KEY, SearchService, Settings
from localcloud.service import common_parser, run_service

MAX_DELAY = 3600


def main() -> None:
    parser = common_parser("search", port=7443)
    parser.add_argument(
        "--indexing-delay",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long a write stays invisible, as in Azure (default: it is visible at once)",
    )
    parser.add_argument("--admin-key", default=ADMIN_KEY)
    parser.add_argument("--query-key", default=QUERY_KEY)
    options = parser.parse_args()
    if not 0 <= options.indexing_delay <= MAX_DELAY:
        parser.error(f"--indexing-delay is from 0 to {MAX_DELAY} seconds")
    given = vars(options)
    log_level = given.pop("log_level")
    settings = Settings(**given)
    # A batch creates many small objects without cycles, so frequent garbage collection would only cost time.
    gc.set_threshold(50_000)
    run_service(lambda: SearchService(settings), log_level=log_level)


if __name__ == "__main__":
    main()
