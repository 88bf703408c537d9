"""Command line: `python -m localcloud.functions --root DIR` starts the Functions dev host."""

import argparse
import logging
from pathlib import Path

from localcloud.functions.host import FunctionsHost, HostOptions
from localcloud.service import run_service

NOISY_LOGGERS = ("azure.core", "azure.identity", "azure.servicebus")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m localcloud.functions",
        description="Run a Functions app on 127.0.0.1. This is a dev host, not the real Functions host.",
    )
    parser.add_argument("--root", type=Path, default=Path(), help="the app's folder (default: this one)")
    parser.add_argument("--port", type=int, default=7071, help="0: any free port (default: %(default)s)")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(".localcloud/functions"),
        help="the folder for keys and timer status (default: %(default)s)",
    )
    parser.add_argument(
        "--after",
        type=Path,
        metavar="FILE",
        help="after loading the app, wait for this file: the services of the app can start in the meantime",
    )
    parser.add_argument("--enable-auth", action="store_true", help="require keys, as Azure does")
    parser.add_argument(
        "--drain-seconds",
        type=float,
        default=10.0,
        help="how long to wait for running invocations on SIGTERM (default: %(default)s)",
    )
    parser.add_argument("--log-level", default="INFO", type=str.upper)
    return parser.parse_args()


def main() -> None:
    given = vars(parse_arguments())
    log_level = given.pop("log_level")
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    options = HostOptions(given.pop("root").resolve(), given.pop("data").resolve(), **given)
    run_service(lambda: FunctionsHost(options), log_level=log_level)


if __name__ == "__main__":
    main()
