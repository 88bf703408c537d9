"""A model of azd: its substitution in main.parameters.json, and the variables that its pipeline passes on.

By azd's source: `${NAME=default}` takes the default if the variable is missing or empty. A parameter whose
string is empty because of a missing variable is left out. Text becomes a number or a boolean if the parameter
has that type, and is left out if it cannot. `azd pipeline config` passes on the listed variables that have a
value, escaped as JSON.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.infra.conftest import ROOT
from tools.bicepcheck.declarations import Parameter, literal, read_file
from tools.bicepcheck.evaluate import Azure, Planned, plan

__all__ = [
    "Deployment",
    "Provider",
    "effective",
    "names_read",
    "parameters_of",
    "pipeline",
    "provision",
    "workflow_environment",
]

MAIN = ROOT / "infra/main.bicep"
DECLARED: dict[str, Parameter] = {found.name: found for found in read_file(MAIN).all(Parameter)}
WRITTEN: dict[str, Any] = json.loads((ROOT / "infra/main.parameters.json").read_text())["parameters"]
_VARIABLE = re.compile(r"\$\{(\w+)(?:=([^}]*))?\}")
_TRUE, _FALSE = {"1", "t", "T", "TRUE", "true", "True"}, {"0", "f", "F", "FALSE", "false", "False"}
_OMITTED = object()


@dataclass(frozen=True)
class Provider:
    """The identity that is signed in to azd."""

    principal_id: str = "aaaaaaaa-0000-0000-0000-00000000000a"
    principal_type: str = "User"


@dataclass
class Deployment:
    """One `azd provision`: the parameters, and the resources that would exist afterwards."""

    parameters: dict[str, Any]
    resources: list[Planned]
    outputs: dict[str, Any] = field(default_factory=dict)

    def of_type(self, type_: str) -> list[Planned]:
        return [resource for resource in self.resources if resource.type == type_]

    def the(self, type_: str) -> Planned:
        (found,) = self.of_type(type_)
        return found

    @property
    def app_settings(self) -> dict[str, str]:
        """Return the settings of the worker."""
        return self.settings_of("worker")

    def settings_of(self, part: str) -> dict[str, str]:
        (found,) = [
            config.properties
            for config in self.of_type("Microsoft.Web/sites/config")
            if config.name == "appsettings" and config.properties["APP_PART"] == part
        ]
        return found


def names_read() -> dict[str, str]:
    """Return each variable that a parameter reads, secrets included, with its default."""
    text = json.dumps(WRITTEN)
    return dict(_VARIABLE.findall(text))


def parameters_of(
    environment: Mapping[str, str], who: Provider, kept: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the parameters. References to a vault are replaced in text, but not in text within objects."""
    known = {
        **environment,
        "AZURE_PRINCIPAL_ID": who.principal_id,
        "AZURE_PRINCIPAL_TYPE": who.principal_type,
    }
    found = {name: _value(name, entry["value"], known) for name, entry in WRITTEN.items()}
    return {
        name: (kept or {})[value] if isinstance(value, str) and value.startswith("akvs://") else value
        for name, value in found.items()
        if value is not _OMITTED
    }


def effective(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, with the template's defaults for the missing ones."""
    defaults = {
        name: literal(parameter.default)
        for name, parameter in DECLARED.items()
        if parameter.default is not None
    }
    return {**defaults, **parameters}


def _value(name: str, written: Any, known: Mapping[str, str]) -> Any:
    text = json.dumps(written)
    replaced = json.loads(_VARIABLE.sub(lambda match: known.get(match[1]) or match[2] or "", text))
    if not isinstance(replaced, str):
        return replaced
    is_unset = any(variable not in known for variable, _ in _VARIABLE.findall(text))
    if not replaced and is_unset:
        return _OMITTED
    return _typed(DECLARED[name].type, replaced)


def _typed(type_: str, text: str) -> Any:
    if type_ == "int":
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else _OMITTED
    if type_ == "bool":
        return text in _TRUE if text in _TRUE | _FALSE else _OMITTED
    return text


def provision(
    environment: dict[str, str],
    who: Provider | None = None,
    *,
    month: str = "2026-11",
    present: Mapping[str, str] | None = None,
    kept: Mapping[str, str] | None = None,
) -> Deployment:
    """Provision, and store the outputs in the environment as azd does."""
    parameters = parameters_of(environment, who or Provider(), kept)
    refused = [name for name, value in parameters.items() if DECLARED[name].refuses(value)]
    assert refused == [], refused
    resources, outputs = plan(MAIN, parameters, Azure(month, present or {}))
    environment |= {name: str(value) for name, value in outputs.items()}
    return Deployment(parameters, resources, outputs)


def pipeline(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the repository's variables and secrets after `azd pipeline config`."""
    listed = yaml.safe_load((ROOT / "azure.yaml").read_text())["pipeline"]
    own = ["AZURE_ENV_NAME", "AZURE_LOCATION", "AZURE_SUBSCRIPTION_ID"]

    def carried(names: list[str]) -> dict[str, str]:
        given = {name: environment[name] for name in names if environment.get(name)}
        return {name: json.dumps(value)[1:-1] for name, value in given.items()}

    return carried([*own, *listed["variables"]]), carried(listed["secrets"])


def workflow_environment(variables: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the workflow's deploy job. Repository values that are not set are empty."""
    written = yaml.safe_load((ROOT / ".github/workflows/azure-dev.yml").read_text())["jobs"]["deploy"]["env"]
    return {name: _expression(value, variables, secrets) for name, value in written.items()}


def _expression(written: str, variables: Mapping[str, str], secrets: Mapping[str, str]) -> str:
    """Return the first value that is not empty, as in `${{ vars.A || 'b' }}`."""
    expression = re.fullmatch(r"\$\{\{ (.*) \}\}", written)
    assert expression is not None, written
    kinds = {"vars": variables, "secrets": secrets}
    for part in expression[1].split(" || "):
        kind, _, name = part.partition(".")
        value = part.strip("'") if part.startswith("'") else kinds[kind].get(name, "")
        if value:
            return value
    return ""
