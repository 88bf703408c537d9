"""python -m localcloud.telemetry: the process."""

from localcloud.service import common_parser, run_service
from localcloud.telemetry.service import PORT, Settings, TelemetryService


def main() -> None:
    options = common_parser("telemetry", port=PORT).parse_args()
    settings = Settings(data=options.data, host=options.host, port=options.port)
    run_service(lambda: TelemetryService(settings), log_level=options.log_level)


if __name__ == "__main__":
    main()
