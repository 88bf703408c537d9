"""Command line: `python -m localcloud.cosmos` starts a Cosmos DB account on loopback."""

from localcloud.clock import SystemClock
from localcloud.cosmos.account import Account
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.server import CosmosService
from localcloud.service import common_parser, run_service


def main() -> None:
    parser = common_parser("cosmos", port=8081)
    parser.add_argument("--key", default=EMULATOR_KEY, help="the account's key (default: the emulator's)")
    parser.add_argument("--ranges", type=int, default=1, help="partition-key ranges of a container, at least")
    parser.add_argument("--replica-lag", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=0.0, metavar="RU/S", help="throttle above it; 0: never")
    parser.add_argument("--synchronous", choices=("OFF", "NORMAL", "FULL", "EXTRA"), default="NORMAL")
    options = parser.parse_args()

    def make() -> CosmosService:
        account = Account(options.data, SystemClock(), ranges=options.ranges, synchronous=options.synchronous)
        account.set_lag(options.replica_lag)
        names = ("host", "port", "key", "rate", "faults")
        return CosmosService(account, **{name: getattr(options, name) for name in names})

    run_service(make, log_level=options.log_level)


if __name__ == "__main__":
    main()
