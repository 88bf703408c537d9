"""Command line: `python -m localcloud.telemetry` starts the telemetry receiver."""

from localcloud.service import common_parser, run_service
from localcloud.telemetry.service import PORT, TelemetryService


def main() -> None:
    options = common_parser("telemetry", port=PORT).parse_args()
    run_service(
        lambda: TelemetryService(options.data, options.host, options.port), log_level=options.log_level
    )


if __name__ == "__main__":
    main()
