"""The examples of `sources.json` in the docs load as `make run` and the API load such a file."""

import json
import re
from datetime import date
from pathlib import Path

import pytest
from pydantic import ValidationError

from shared.ingestion.source_definitions import SourceDefinition, check_reachable, source_of
from shared.models.sources import Source
from shared.models.values import Preset
from shared.reading.rulings import DECIDING_ROLES
from shared.reading.votes import BINDING_ROLES
from shared.settings.app import Settings
from tests.support.documents import CREATED
from tests.support.services import ROOT
from tools.run_archives.client import DEFINITIONS, ArchiveFile, definitions_at

SECTION = (
    (ROOT / "docs" / "sources.md")
    .read_text(encoding="utf-8")
    .partition("\n## Your own list\n")[2]
    .partition("\n## ")[0]
)
EXAMPLES = re.findall(r"```json\n(.*?)```", SECTION, re.DOTALL)
SETTINGS = Settings(COSMOS_ENDPOINT="c", SEARCH_ENDPOINT="s")


def loaded(folder: Path, example: str) -> Source:
    """Load the one source of an example, from the file of `make run` to the document that the API stores."""
    (folder / DEFINITIONS).write_text(example, encoding="utf-8")
    (found,) = definitions_at(folder)
    definition = SourceDefinition.model_validate(found)
    check_reachable(definition, SETTINGS)
    return source_of(definition, CREATED)


def the_example(preset: Preset) -> str:
    (found,) = [example for example in EXAMPLES if json.loads(example)[0]["preset"] == preset]
    return str(found)


def deciders(source: Source, day: date) -> set[tuple[str, str]]:
    return {(holder.person, holder.role) for holder in source.profile.roles if holder.holds_on(day)}


def test_the_ietf_example_names_each_chair_for_their_time(tmp_path: Path) -> None:
    source = loaded(tmp_path, the_example(Preset.IETF))
    director = ("cy@example.net", "area director")

    assert deciders(source, date(2024, 1, 31)) == {("ann@example.org", "chair"), director}
    assert deciders(source, date(2024, 2, 1)) == {("bo@example.com", "chair"), director}


def test_the_git_example_is_fetched_and_has_an_interim_maintainer(tmp_path: Path) -> None:
    source = loaded(tmp_path, the_example(Preset.GIT))

    assert source.next_fetch_at is not None
    assert len(deciders(source, date(2024, 11, 8))) == 2
    assert deciders(source, date(2024, 11, 9)) == {("maintainer@example.org", "maintainer")}


def test_the_apache_example_has_binding_voters_aliases_and_namesakes(tmp_path: Path) -> None:
    source = loaded(tmp_path, the_example(Preset.APACHE))

    assert {role for _, role in deciders(source, date(2024, 1, 1))} == {"release manager", "binding"}
    assert source.profile.aliases == (("ann@apache.example", "ann@example.org"),)
    assert source.profile.namesakes == (("bo@example.com", "bo@example.net"),)


def test_the_archive_that_the_text_names_belongs_to_its_example() -> None:
    archives = re.findall(r"in the archive `([^`]+)`", SECTION)
    sources = {json.loads(example)[0]["name"] for example in EXAMPLES}

    assert len(archives) == 2
    assert {ArchiveFile(Path(name), 0).source for name in archives} <= sources


def test_another_name_for_the_end_of_a_period_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"roles\.0\n.*is named `until`, not `to`"):
        loaded(tmp_path, the_example(Preset.IETF).replace('"until"', '"to"'))


@pytest.mark.parametrize(
    ("row", "roles"),
    [("may settle a thread", DECIDING_ROLES), ("has a binding vote", BINDING_ROLES)],
)
def test_the_roles_in_the_table_are_those_of_the_reader(row: str, roles: frozenset[str]) -> None:
    (cell,) = re.findall(rf"^\| `role`, {row}[^|]*\| ([^|]+) \|$", SECTION, re.MULTILINE)

    assert set(cell.split(", ")) == roles


def test_every_preset_is_named() -> None:
    (cell,) = re.findall(r"^\| `preset` \| ([^|]+) \|$", SECTION, re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", cell)) == {preset.value for preset in Preset}
