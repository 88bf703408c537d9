"""The pinned previous version is the previous one."""

import pytest

from tests.system.version_before import PINNED, git, this_version, version_of


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_this_version_names_the_release_before_it() -> None:
    commit = PINNED[this_version()]
    pyproject = git("show", f"{commit}:pyproject.toml")
    if pyproject is None:
        pytest.skip("the history of this clone does not reach the version before")
    assert numbers(version_of(pyproject.decode())) < numbers(this_version())
    assert git("merge-base", "--is-ancestor", commit, "HEAD") is not None
