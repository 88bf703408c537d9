"""Stores the schemas of the resource types that the Bicep files use: `python -m tools.azure_types`.

Microsoft publishes them (MIT) in the PyPI package msmcp-azure, as compressed resources of a .NET assembly in
its only executable. This tool extracts them, reduces them to the checker's needs, and stores them with it, so
that the tests need neither the 60 MB package nor a network. bicepcheck/supplement.json describes the few
types that the package names without their content.
"""

import argparse
import json
import re
import struct
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
KEPT = Path(__file__).parent / "bicepcheck" / "types.json"
_DECLARED = re.compile(r"'(Microsoft\.[\w./]+)@([\w-]+)'")
_MARK = b"/types.json.deflated\0"


class NoTypesError(Exception):
    """The package msmcp-azure is not installed, or no longer has the types in the expected place."""


def declared_types() -> set[str]:
    """Return each type@version of a resource in infra/ or bicep/."""
    files = [*ROOT.glob("infra/**/*.bicep"), *ROOT.glob("bicep/**/*.bicep")]
    return {"@".join(found) for file in files for found in _DECLARED.findall(file.read_text())}


def executable() -> Path:
    spec = find_spec("msmcp_azure")
    if spec is None or spec.origin is None:
        raise NoTypesError("install it first: pip install msmcp-azure")
    return next(path for path in (Path(spec.origin).parent / "bin").iterdir() if path.stem == "azmcp")


def embedded_files(data: mmap) -> Iterator[bytes]:
    """Yield the assembly's type resources. Each has a length and a compressed JSON file."""
    position, end = _resources(data)
    while position < end:
        (length,) = struct.unpack_from("<I", data, position)
        start = position + 4
        yield zlib.decompressobj(-zlib.MAX_WBITS).decompress(data[start : start + length])
        position = start + length


def _resources(data: mmap) -> tuple[int, int]:
    base = data.find(_MARK)
    while (base := data.rfind(b"MZ", 0, base)) >= 0:
        sections = _sections(data, base)
        if sections is not None:
            address, size = struct.unpack_from("<II", data, _offset(sections, _cli_header(data, base)) + 24)
            start = _offset(sections, address)
            return start, start + size
    raise NoTypesError


def _sections(data: mmap, base: int) -> list[tuple[int, int, int]] | None:
    """Return (address, size, offset) of each section of the .NET executable at `base`, or None."""
    (header,) = struct.unpack_from("<I", data, base + 0x3C)
    header += base
    if data[header : header + 4] != b"PE\0\0":
        return None
    (count,) = struct.unpack_from("<H", data, header + 6)
    (optional_size,) = struct.unpack_from("<H", data, header + 20)
    table = header + 24 + optional_size
    found = []
    for index in range(count):
        size, address, raw_size, raw = struct.unpack_from("<IIII", data, table + 40 * index + 8)
        found.append((address, max(size, raw_size), base + raw))
    return found if _cli_header(data, base) else None


def _cli_header(data: mmap, base: int) -> int:
    header = base + int(struct.unpack_from("<I", data, base + 0x3C)[0]) + 24
    (magic,) = struct.unpack_from("<H", data, header)
    directories = header + (96 if magic == 0x10B else 112)  # noqa: PLR2004 - PE32, otherwise PE32+
    return int(struct.unpack_from("<I", data, directories + 14 * 8)[0])


def _offset(sections: list[tuple[int, int, int]], address: int) -> int:
    for start, size, offset in sections:
        if start <= address < start + size:
            return offset + address - start
    raise NoTypesError


def keep(wanted: set[str]) -> dict[str, Any]:
    """Return the wanted types, with all types that they refer to."""
    lowered = {name.lower() for name in wanted}
    resources: dict[str, str] = {}
    types: dict[str, Any] = {}
    with executable().open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for text in embedded_files(data):
            content = json.loads(text)
            if isinstance(content, list) and any(
                name in text.lower() for name in (wanted_name.encode() for wanted_name in lowered)
            ):
                _collect(content, lowered, resources, types)
    return {"resources": dict(sorted(resources.items())), "types": types}


def _collect(
    content: list[dict[str, Any]], wanted: set[str], resources: dict[str, str], types: dict[str, Any]
) -> None:
    renamed: dict[int, str] = {}

    def visit(index: int) -> str:
        if index not in renamed:
            renamed[index] = str(len(types))
            types[renamed[index]] = {}  # reserve the index first, because the type can refer to itself
            types[renamed[index]] = _slim(content[index], visit)
        return renamed[index]

    for entry in content:
        if entry["$type"] == "ResourceType" and entry["name"].lower() in wanted:
            resources[entry["name"]] = visit(_target(entry["body"]))


def _target(reference: dict[str, str]) -> int:
    return int(reference["$ref"].rpartition("/")[2])


def _slim(node: dict[str, Any], visit: Any) -> dict[str, Any]:
    """Return the type without descriptions and with renamed references."""
    slim: dict[str, Any] = {"kind": node["$type"].removesuffix("Type")}
    for key in ("value", "discriminator", "minLength", "maxLength", "pattern", "minValue", "maxValue"):
        if key in node:
            slim[key] = node[key]
    for key in ("properties", "baseProperties"):
        if key in node:
            slim[key] = {
                name: [visit(_target(member["type"])), member.get("flags", 0)]
                for name, member in node[key].items()
            }
    if node.get("additionalProperties"):
        slim["additional"] = visit(_target(node["additionalProperties"]))
    if "itemType" in node:
        slim["item"] = visit(_target(node["itemType"]))
    if isinstance(node.get("elements"), list):
        slim["elements"] = [visit(_target(element)) for element in node["elements"]]
    elif "elements" in node:
        slim["elements"] = {name: visit(_target(element)) for name, element in node["elements"].items()}
    return slim


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    kept = keep(declared_types())
    KEPT.write_text(json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{len(kept['resources'])} resource types, {KEPT.stat().st_size:,} bytes in {KEPT}")  # noqa: T201


if __name__ == "__main__":
    main()
