"""Azure on one machine: start the services, an app, and a command that uses them."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcloud.ports import choose_ports
from localcloud.up.catalogue import NAMES, plan_services
from localcloud.up.command import note_settings, run_command, settings_of_running
from localcloud.up.data_folder import FolderInUseError, data_folder
from localcloud.up.project import Project, read_project
from localcloud.up.settings_file import settings_of_all, write_local_settings
from localcloud.up.supervisor import Supervisor


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    options, command = _parser().parse_args(given[:cut]), given[cut + 1 :]
    try:
        return _up(options, command)
    except FolderInUseError as in_use:
        return _already_up(options, command, in_use)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"localcloud: {error}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="localcloud", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    up = commands.add_parser(
        "up",
        usage="localcloud up [options] [-- COMMAND ...]",
        help="start the services, and the app if there is one; Ctrl-C stops all",
        description="The command runs when all services are up. Their settings are in its environment.",
    )
    up.add_argument("--root", type=Path, default=Path(), help="the folder of the app (default: this one)")
    up.add_argument("--data", type=Path, help="the data folder of the local cloud (default: .localcloud)")
    up.add_argument("--fresh", action="store_true", help="delete the data of earlier starts")
    up.add_argument("--port-offset", type=_offset, default=None, metavar="N|auto", help="added to each port")
    up.add_argument("--only", type=_names, metavar="A,B", help=f"services, any of: {', '.join(NAMES)}")
    up.add_argument("--once", action="store_true", help="end when the command ends")
    return parser


def _offset(text: str) -> int | None:
    if text != "auto" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number or auto, not {text!r}")
    return None if text == "auto" else int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _up(options: argparse.Namespace, command: Sequence[str]) -> int:
    root = options.root.resolve()
    project, is_app = read_project(root), (root / "host.json").exists()
    only = options.only or (
        NAMES if is_app else [name for name in NAMES if name not in {"storage", "functions"}]
    )
    with data_folder((options.data or root / ".localcloud").resolve(), fresh=options.fresh) as data:
        ports = choose_ports(options.port_offset)
        plans = plan_services(ports, project=project, data=data, only=only)
        settings = settings_of_all(ports, data, only)
        note_settings(data, settings)
        values, written = settings, ""
        if is_app:
            values, written = write_local_settings(root, settings), ", settings in local.settings.json"
        _say(f"The local cloud starts (data in {_short(data, root)}{written}).")
        supervisor = Supervisor(plans, root=root, data=data, say=_say, settings=values)

        async def when_up() -> int | None:
            _say(f"\n{project.name} is up.")
            code = await run_command(command, settings) if command else 0
            if options.once:
                if command and code == 0:
                    _say("To open these addresses, start again without --once.")
                return code
            _say(_where_to_look(project, settings, _short(data, root), is_app=is_app))
            return None

        return asyncio.run(supervisor.run(when_up))


def _already_up(options: argparse.Namespace, command: Sequence[str], in_use: FolderInUseError) -> int:
    """Run the command against the running local cloud. Anything else needs exclusive use of the folder."""
    if not command or options.fresh:
        sys.stderr.write(f"localcloud: {in_use}\n")
        return 1
    return asyncio.run(_join(read_project(options.root.resolve()), command, in_use))


async def _join(project: Project, command: Sequence[str], in_use: FolderInUseError) -> int:
    settings = await settings_of_running(in_use)
    if settings is None:
        sys.stderr.write(f"localcloud: {in_use}, which is not responding\n")
        return 1
    where = f" at {settings['FUNCTIONS_URL']}/" if "FUNCTIONS_URL" in settings else ""
    _say(f"{project.name} is already running{where} (process {in_use.pid}).")
    return await run_command(command, settings)


def _where_to_look(project: Project, settings: Mapping[str, str], data: str, *, is_app: bool) -> str:
    pages = {name: settings.get("FUNCTIONS_URL", "") + path for name, path in project.pages.items()}
    shown = {**(pages if is_app else settings), "logs": f"{data}/logs/"}
    wide = max(map(len, shown))
    return "".join(f"\n  {name:<{wide}}  {value}" for name, value in shown.items()) + "\nCtrl-C stops it."


def _short(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
