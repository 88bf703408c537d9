"""Command line: `python -m localcloud.servicebus` starts the local Service Bus."""

import gc
from pathlib import Path

from localcloud.service import common_parser, run_service
from localcloud.servicebus.auth import DEFAULT_KEY, DEFAULT_KEY_NAME, AccessKey
from localcloud.servicebus.config import load_config
from localcloud.servicebus.server import ServiceBus, Settings


def main() -> None:
    parser = common_parser("servicebus", port=5672)
    parser.add_argument("--admin-port", type=int, default=5300, help="HTTP and HTTPS (default: %(default)s)")
    parser.add_argument(
        "--config",
        type=Path,
        default=Path("infra/servicebus/Config.json"),
        help="the official emulator's Config.json (default: %(default)s)",
    )
    parser.add_argument(
        "--no-clamp", action="store_true", help="lift the official emulator's limits, for tests"
    )
    parser.add_argument(
        "--max-connections",
        type=int,
        default=1000,
        help="at once; the official emulator takes 10 (default: %(default)s)",
    )
    parser.add_argument(
        "--synchronous",
        choices=["NORMAL", "FULL"],
        default="NORMAL",
        help="NORMAL survives a crash of the process, FULL also a power cut",
    )
    parser.add_argument("--key-name", default=DEFAULT_KEY_NAME)
    parser.add_argument("--key", default=DEFAULT_KEY, help="the shared access key (default: the emulator's)")
    options = parser.parse_args()

    def make() -> ServiceBus:
        config = load_config(options.config, clamp=not options.no_clamp)
        names = ("data", "host", "port", "admin_port", "synchronous", "faults", "max_connections")
        same = {name: getattr(options, name) for name in names}
        return ServiceBus(Settings(config, access_key=AccessKey(options.key_name, options.key), **same))

    # Queued messages are numerous and acyclic, so frequent garbage collection would only cost time.
    gc.set_threshold(100_000, 50, 50)
    run_service(make, log_level=options.log_level)


if __name__ == "__main__":
    main()
