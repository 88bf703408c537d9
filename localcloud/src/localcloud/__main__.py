"""The local cloud's command line."""

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console

from localcloud.ports import Ports, choose_ports
from localcloud.up.catalogue import NAMES, plan_services
from localcloud.up.data_folder import FolderInUseError, data_folder
from localcloud.up.handover import hand_over, note_address
from localcloud.up.settings_file import local_values, write_local_settings
from localcloud.up.supervisor import Supervisor


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _up(options)
    except FolderInUseError as in_use:
        return _already_up(options, in_use)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"localcloud: {error}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localcloud", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    up = commands.add_parser("up", help="start the local cloud and the app; Ctrl-C stops both")
    up.add_argument("--root", type=Path, default=Path(), help="the folder of the app (default: this one)")
    up.add_argument("--data", type=Path, help="where the local cloud keeps its data (default: .localcloud)")
    up.add_argument("--fresh", action="store_true", help="delete the data of earlier starts")
    up.add_argument("--port-offset", type=_offset, default=None, metavar="N|auto", help="added to each port")
    up.add_argument("--only", type=_names, default=NAMES, metavar="A,B", help=f"of: {', '.join(NAMES)}")
    up.add_argument(
        "--archive", type=Path, metavar="PATH", help="add this archive, or all archives of a folder"
    )
    up.add_argument("--once", action="store_true", help="end when the archives are reported")
    return parser


def _offset(text: str) -> int | None:
    return None if text == "auto" else int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _up(options: argparse.Namespace) -> int:
    root = options.root.resolve()
    with data_folder((options.data or root / ".localcloud").resolve(), fresh=options.fresh) as data:
        ports = choose_ports(options.port_offset)
        note_address(data, _address(ports))
        plans = plan_services(ports, root=root, data=data, only=options.only)
        settings = write_local_settings(
            root, local_values(ports, data, telemetry="telemetry" in options.only)
        )
        _say(f"The local cloud starts (data in {_short(data, root)}, settings in local.settings.json).")
        supervisor = Supervisor(plans, root=root, data=data, say=_say, settings=settings)
        return asyncio.run(supervisor.run(lambda: _when_up(options, ports, _short(data, root))))


def _already_up(options: argparse.Namespace, in_use: FolderInUseError) -> int:
    """An archive goes to the local cloud that runs; anything else needs the folder for itself."""
    if options.archive is None or options.fresh:
        sys.stderr.write(f"localcloud: {in_use}\n")
        return 1
    return hand_over(in_use, options.archive, Console(highlight=False))


async def _when_up(options: argparse.Namespace, ports: Ports, data: str) -> int | None:
    _say("\nRough Consensus is up.")
    code = 0
    if options.archive is not None:
        from localcloud.up.showing import show_archives  # noqa: PLC0415 - only needed with an archive

        code = await show_archives(_address(ports), options.archive, Console(highlight=False))
        if options.once and code == 0:
            _say("To open these addresses, start again without --once.")
    if options.once:
        return code
    _say(_where_to_look(ports, data))
    return None


def _address(ports: Ports) -> str:
    return f"http://localhost:{ports.functions}"


def _where_to_look(ports: Ports, data: str) -> str:
    app = _address(ports)
    return (
        f"\n  reader     {app}/\n  operator   {app}/operator\n  API        {app}/api/openapi.json\n"
        f"  logs       {data}/logs/\nCtrl-C stops it."
    )


def _short(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
