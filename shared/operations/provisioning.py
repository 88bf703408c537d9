"""Creates the database, the index and the blob containers: `python -m shared.operations.provisioning`."""

import asyncio
import sys

from shared.azure.blobs import ARCHIVES_CONTAINER, DEAD_LETTERS_CONTAINER
from shared.azure.classify import SDK_ERRORS
from shared.azure.connections import Clients, LayoutError
from shared.core.errors import PipelineError
from shared.embedding.factory import open_embedder
from shared.embedding.openvino.model_folder import ModelFolderError, known_dimension
from shared.settings.app import Settings, SettingsError, load_settings

DEFAULT_DIMENSION = 384  # of all-MiniLM-L6-v2


async def provision(settings: Settings) -> None:
    clients = await Clients.connect(settings)
    try:
        await clients.ensure_containers()
        await clients.index.versions.ensure(await dimension(settings))
        for container in (ARCHIVES_CONTAINER, DEAD_LETTERS_CONTAINER):
            await clients.blobs.ensure_container(container)
        if settings.DIRECT_UPLOADS and settings.STORAGE_CONNECTION is not None and settings.PUBLIC_URL:
            # Only for pages of the site, because the key of the local storage is public.
            await clients.blobs.allow_uploads_from(settings.PUBLIC_URL.rstrip("/"))
    finally:
        await clients.close()


async def dimension(settings: Settings) -> int:
    """Return the dimension of the vectors. If it is not known, start the model to find out."""
    try:
        known = known_dimension(settings)
    except ModelFolderError:  # provisioned before the model is built: use the dimension of the standard model
        return settings.EMBEDDING_DIMENSION or DEFAULT_DIMENSION
    if known is not None:
        return known
    model = await open_embedder(settings)
    try:
        return model.dimension
    finally:
        await model.close()


def main() -> int:
    try:
        asyncio.run(provision(load_settings()))
    except (SettingsError, LayoutError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (*SDK_ERRORS, PipelineError) as error:
        sys.stderr.write(f"{type(error).__name__}: {' '.join(str(error).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
