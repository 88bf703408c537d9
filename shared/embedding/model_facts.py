"""What can be said of the embedding model without starting it: for provisioning and for health."""

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER, Manifest, ModelFolderError
from shared.settings.app import Settings


def known_dimension(settings: Settings) -> int | None:
    """How long its vectors are; None where only the model can tell. ModelFolderError without its folder."""
    if settings.EMBEDDING_BACKEND != "openvino":
        return settings.EMBEDDING_DIMENSION
    folder = settings.EMBEDDING_MODEL_PATH or DEFAULT_FOLDER
    manifest = Manifest.read(folder)
    for name in manifest.files:
        if not (folder / name).is_file():
            raise ModelFolderError(f"{folder / name} is missing: build the model again (make model)")
    return manifest.dimension


def check_model_folder(settings: Settings) -> None:
    """ModelFolderError where the model is a folder that is not there."""
    known_dimension(settings)
    path = settings.EMBEDDING_MODEL_PATH
    if settings.EMBEDDING_BACKEND == "sentencetransformers" and path is not None and not path.is_dir():
        raise ModelFolderError(f"there is no model in {path}: EMBEDDING_MODEL_PATH names it")
