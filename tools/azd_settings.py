"""Copies main.parameters.json's variables to azure.yaml and azure-dev.yml: `python -m tools.azd_settings`.

If a pipeline does not pass on a variable, its parameter silently has its default.
"""

import json
import re
from pathlib import Path

from tools.bicepcheck.declarations import Parameter, read_file

ROOT = Path(__file__).parent.parent
OWN = {"AZURE_ENV_NAME", "AZURE_LOCATION", "AZURE_PRINCIPAL_ID", "AZURE_PRINCIPAL_TYPE"}  # azd's own
_PART = re.compile(
    r"(\n( *)# Written by python -m tools\.azd_settings:\n)[\s\S]*?( *# End of the generated part\.)"
)


def variables() -> tuple[list[str], list[str]]:
    """Return the variables of plain parameters, and the variables of secure parameters."""
    written = json.loads((ROOT / "infra/main.parameters.json").read_text())["parameters"]
    declared = read_file(ROOT / "infra/main.bicep").all(Parameter)
    secure = {parameter.name for parameter in declared if "secure" in parameter.decorators}
    read: dict[bool, set[str]] = {False: set(), True: set()}
    for name, entry in written.items():
        read[name in secure] |= set(re.findall(r"\$\{(\w+)", json.dumps(entry)))
    return sorted(read[False] - OWN), sorted(read[True])


def rendered() -> dict[Path, str]:
    plain, secrets = variables()
    carried = [
        "variables:",
        *(f"  - {name}" for name in plain),
        "secrets:",
        *(f"  - {name}" for name in secrets),
    ]
    passed = [
        f"{name}: ${{{{ {kind}.{name} }}}}"
        for kind, names in (("vars", plain), ("secrets", secrets))
        for name in names
    ]
    files = {"azure.yaml": carried, ".github/workflows/azure-dev.yml": passed}
    return {ROOT / file: _written(ROOT / file, lines) for file, lines in files.items()}


def _written(file: Path, lines: list[str]) -> str:
    def part(match: re.Match[str]) -> str:
        return match[1] + "".join(f"{match[2]}{line}\n" for line in lines) + match[3]

    text, count = _PART.subn(part, file.read_text())
    if count != 1:
        raise ValueError(f"{file} has {count} places for the settings")
    return text


if __name__ == "__main__":
    for file, text in rendered().items():
        file.write_text(text)
