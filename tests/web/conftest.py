from collections.abc import Iterator

import pytest

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import AppCloud
from tests.web.site import Site, sample_site


@pytest.fixture(scope="session")
def site(cloud: AppCloud) -> Iterator[Site]:
    """Both sample lists, reported. Tests only read it."""
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with sample_site(cloud) as running:
        yield running
