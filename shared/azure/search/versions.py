"""The versions of the index: one for each model, and an alias for the live version."""

import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from shared.azure.calls import Calls
from shared.azure.search.fields import index_definition
from shared.core.errors import DependencyError
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.search.documents.indexes import models
    from azure.search.documents.indexes.aio import SearchIndexClient
else:
    models = lazy("azure.search.documents.indexes.models")

DEFINITION = 2  # of the fields
MODEL_LENGTH = 60
LOOKED_UP_SECONDS = 30.0
BAD_REQUEST = 400
FORBIDDEN = 403
REMEDY = "run `python3 infra/hooks/postprovision.py`; locally, `python -m shared.operations.provisioning`"


class IndexMissingError(DependencyError):
    """The index was not created yet, or was deleted."""

    def __init__(self, index: str) -> None:
        super().__init__(f"the index {index} is not there: {REMEDY}")


class IndexMismatchError(DependencyError):
    """The index was created for vectors of another length."""


def version_name(collection: str, model: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:MODEL_LENGTH].strip("-")
    if slug != model.lower():  # two models must not share an index
        slug = f"{slug}-{hashlib.sha256(model.encode()).hexdigest()[:6]}".strip("-")
    return f"{collection}-{slug}-{DEFINITION}"


class Versions:
    def __init__(
        self, admin: "SearchIndexClient", alias: str, model: str, clock: Callable[[], float], calls: Calls
    ) -> None:
        self._admin, self._clock, self._calls = admin, clock, calls
        self.alias, self.own = alias, version_name(alias, model)
        self._live: str | None = None
        self._looked_up = float("-inf")
        self._checked: int | None = None

    async def ensure(self, dimensions: int) -> None:
        """Create or update this model's index. It becomes live if no index is."""
        definition = index_definition(self.own, dimensions)
        try:
            async with self._calls.measured("ensure", writes=True):
                await self._admin.create_or_update_index(definition)
        except HttpResponseError as error:
            if error.status_code != BAD_REQUEST or await self._holds_anything():
                raise
            if await self.look_up() == self.own:  # created for other vectors and never used
                async with self._calls.measured("delete_alias", writes=True):
                    await self._admin.delete_alias(self.alias)
            await self._delete_index(self.own)
            async with self._calls.measured("ensure", writes=True):
                await self._admin.create_index(definition)
        if await self.look_up() is None:
            await self.switch()

    async def live(self, *, anew: bool = False) -> str:
        """Return the live index, or this model's index if none is live. The answer is cached for a while."""
        if anew or self._clock() - self._looked_up > LOOKED_UP_SECONDS:
            await self.look_up()
        return self._live or self.own

    async def look_up(self) -> str | None:
        async with self._calls.measured("alias"):
            try:
                (self._live,) = (await self._admin.get_alias(self.alias)).indexes
            except ResourceNotFoundError:
                self._live = None
        self._looked_up = self._clock()
        return self._live

    async def switch(self) -> str | None:
        before = await self.look_up()
        async with self._calls.measured("switch", writes=True):
            await self._admin.create_or_update_alias(models.SearchAlias(name=self.alias, indexes=[self.own]))
        self._live = self.own
        return before if before != self.own else None

    async def delete(self, name: str) -> None:
        if name == await self.look_up():
            raise ValueError(f"{name} is live")
        await self._delete_index(name)

    async def dimensions(self) -> int | None:
        async with self._calls.measured("definition"):
            try:
                found = await self._admin.get_index(self.own)
            except ResourceNotFoundError:
                return None
        lengths = [field.vector_search_dimensions for field in found.fields]
        return next((length for length in lengths if length), None)

    async def check(self, dimensions: int) -> None:
        """Check that the index accepts vectors of this length. If not, the settings are wrong."""
        if self._checked == dimensions:
            return
        found = await self.dimensions()
        if found is not None:
            self.require(found, dimensions)
        else:
            try:
                await self.ensure(dimensions)
            except HttpResponseError as error:
                if error.status_code == FORBIDDEN:  # in Azure the deployment creates the index
                    raise IndexMissingError(self.own) from error
                raise
        self._checked = dimensions

    def require(self, found: int, dimensions: int) -> None:
        if found != dimensions:
            raise IndexMismatchError(
                f"{self.own} takes vectors of {found} numbers, the model gives {dimensions}: "
                "set EMBEDDING_MODEL to the model's own name, and run `python -m ops reembed`"
            )

    def doubt(self) -> None:
        """Check the index again before the next write, because it was missing."""
        self._checked = None

    async def _delete_index(self, name: str) -> None:
        async with self._calls.measured("delete_index", writes=True):
            await self._admin.delete_index(name)

    async def _holds_anything(self) -> bool:
        async with self._calls.measured("statistics"):
            statistics = await self._admin.get_index_statistics(self.own)
        return statistics.document_count > 0
