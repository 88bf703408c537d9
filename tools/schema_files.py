"""The JSON Schemas of all documents and events, generated from the models.

`python -m tools.schema_files` writes them to shared/schemas. A test checks that they are current.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared.models.containers import DOCUMENTS
from shared.pipeline.events import CATALOGUE, envelope_of

__all__ = ["SCHEMA_FOLDER", "schema_files"]

SCHEMA_FOLDER = Path(__file__).resolve().parent.parent / "shared" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_files() -> Iterator[tuple[Path, str]]:
    """Yield each schema file with its content."""
    for container, document in DOCUMENTS.items():
        schema = document.model_json_schema(by_alias=True, mode="serialization")
        yield SCHEMA_FOLDER / "documents" / f"{container}.schema.json", _text(container, schema)
    for event_type, data in CATALOGUE.items():
        schema = envelope_of(data).model_json_schema()
        schema["properties"]["event_type"]["const"] = event_type
        schema["properties"]["version"]["examples"] = [data.version]
        yield SCHEMA_FOLDER / "events" / f"{event_type}.schema.json", _text(event_type, schema)


def _text(title: str, schema: dict[str, Any]) -> str:
    return json.dumps({"$schema": DIALECT, **schema, "title": title}, indent=2) + "\n"


def main() -> None:
    for path, text in schema_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
