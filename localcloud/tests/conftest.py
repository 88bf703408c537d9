from collections.abc import Iterator

import pytest

from tests.support.sdk_pace import without_pauses


@pytest.fixture(scope="session", autouse=True)
def sdk_without_pauses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        without_pauses(patch)
        yield
