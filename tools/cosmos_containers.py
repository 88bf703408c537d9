"""Writes infra/cosmos/containers.json from the code's definitions: `python -m tools.cosmos_containers`.

Bicep deploys that file, so Azure's containers are the same as the app's local containers.
"""

import json
from pathlib import Path
from typing import Any

from shared.models.containers import CONTAINERS, ContainerSpec

FILE = Path(__file__).parent.parent / "infra" / "cosmos" / "containers.json"


def rendered() -> str:
    return json.dumps([container_resource(spec) for spec in CONTAINERS.values()], indent=2) + "\n"


def container_resource(spec: ContainerSpec) -> dict[str, Any]:
    """Return a container in the format of Azure's resource provider."""
    resource: dict[str, Any] = {
        "id": spec.name,
        "partitionKey": {"paths": [spec.partition_path], "kind": "Hash", "version": 2},
        "indexingPolicy": spec.indexing_policy(),
    }
    if spec.default_ttl is not None:
        resource["defaultTtl"] = spec.default_ttl
    return resource


if __name__ == "__main__":
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(rendered())
