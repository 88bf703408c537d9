"""The part of azure-search-documents that shared.azure.search uses, on dictionaries, with delayed visibility.

A stored document is available at once for the next merge. A search sees it after the index delay.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from azure.core.exceptions import (
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)

from tests.simulation.chance import Fault
from tests.simulation.network import Errors, Network

Document = dict[str, Any]
_COMPARISON = re.compile(r"(\w+) (eq|ge|gt|le|lt) '((?:[^']|'')*)'")
_HAS = re.compile(r"(\w+)/any\((\w+): \2 eq '((?:[^']|'')*)'\)")
_IN = re.compile(r"search\.in\((\w+), '((?:[^']|'')*)'(?:, '(.)')?\)")
_COMPARE: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda a, b: a == b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
}


def _broken(sent: bool) -> Exception:
    return (ServiceResponseError if sent else ServiceRequestError)("the connection broke")


def _refused(fault: Fault) -> Exception:
    error = HttpResponseError("refused by the simulation")
    error.status_code = 429 if fault is Fault.THROTTLE else 503
    return error


ERRORS = Errors(_broken, _refused)


@dataclass
class SearchIndex:
    dimensions: int
    stored: dict[str, Document] = field(default_factory=dict)
    visible: dict[str, Document] = field(default_factory=dict)
    waiting: list[tuple[float, str, Document | None]] = field(default_factory=list)

    def show_all(self) -> None:
        self.visible, self.waiting = dict(self.stored), []


@dataclass
class SearchServer:
    now: Callable[[], float]
    delay: float = 0.0
    indexes: dict[str, SearchIndex] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def index(self, name: str) -> SearchIndex:
        found = self.indexes.get(self.aliases.get(name, name))
        if found is None:
            raise ResourceNotFoundError(f"there is no index {name}")
        return found

    def change(self, index: SearchIndex, key: str, document: Document | None) -> None:
        if document is None:
            index.stored.pop(key, None)
        else:
            index.stored[key] = document
        index.waiting.append((self.now() + self.delay, key, document))

    def visible(self, index: SearchIndex) -> dict[str, Document]:
        while index.waiting and index.waiting[0][0] <= self.now():
            _, key, document = index.waiting.pop(0)
            if document is None:
                index.visible.pop(key, None)
            else:
                index.visible[key] = document
        return index.visible


def _result(key: str) -> SimpleNamespace:
    return SimpleNamespace(key=key, succeeded=True, status_code=200, error_message=None)


class SimulatedSearch:
    """A client of one index."""

    def __init__(self, server: SearchServer, network: Network, name: str) -> None:
        self._server, self._network, self._name = server, network, name

    async def index_documents(self, batch: Any) -> list[Any]:
        actions = [dict(action) for action in batch.actions]
        for action in actions:
            action.pop("@search.action", None)

        def effect() -> list[Any]:
            index = self._server.index(self._name)
            for action in actions:
                key = action["chunk_id"]
                self._server.change(index, key, {**index.stored.get(key, {}), **action})
            return [_result(action["chunk_id"]) for action in actions]

        results: list[Any] = await self._call("index", effect, actions[0]["chunk_id"] if actions else "")
        return results

    async def delete_documents(self, documents: Sequence[Mapping[str, str]]) -> list[Any]:
        def effect() -> list[Any]:
            index = self._server.index(self._name)
            for document in documents:
                self._server.change(index, document["chunk_id"], None)
            return [_result(document["chunk_id"]) for document in documents]

        results: list[Any] = await self._call("delete", effect, documents[0]["chunk_id"] if documents else "")
        return results

    async def search(self, text: str | None, **options: Any) -> "_Results":
        matches = matcher(options.get("filter"))

        def effect() -> list[Document]:
            found = self._server.visible(self._server.index(self._name)).values()
            return sorted(
                (document for document in found if matches(document)), key=lambda d: str(d["chunk_id"])
            )

        found = await self._call("search", effect, str(options.get("filter"))[:40])
        return _Results(found, options.get("select"), options.get("top"))

    async def _call(self, operation: str, effect: Callable[[], Any], about: str) -> Any:
        return await self._network.call("search", operation, effect, ERRORS, about)

    async def close(self) -> None:
        """Nothing to close."""


class _Results:
    def __init__(self, found: list[Document], select: Sequence[str] | None, top: int | None) -> None:
        self._found, self._select, self._top = found, select, top

    async def get_count(self) -> int:
        return len(self._found)

    async def get_facets(self) -> None:
        return None

    async def by_page(self) -> AsyncIterator[AsyncIterator[Document]]:
        yield aiter(self)

    async def __aiter__(self) -> AsyncIterator[Document]:
        for document in self._found[: self._top]:
            names = self._select or document
            yield {"@search.score": 1.0, **{name: document.get(name) for name in names}}


def matcher(condition: str | None) -> Callable[[Document], bool]:
    """Return a matcher for the app's filters: comparisons of texts, search.in and "the list or the field has it"."""
    if not condition:
        return lambda _document: True
    tests = [_among(*found) for found in _IN.findall(condition)]
    tests += [_has(*found) for found in _HAS.findall(condition)]
    rest = _HAS.sub("", _IN.sub("", condition))
    tests += [_compared(*found) for found in _COMPARISON.findall(rest)]
    left = _COMPARISON.sub("", rest).replace("and", "").strip(" ()")
    if left or not tests:
        raise NotImplementedError(f"the simulated index does not know this filter: {condition}")
    return lambda document: all(test(document) for test in tests)


def _among(name: str, values: str, separator: str) -> Callable[[Document], bool]:
    wanted = set(values.replace("''", "'").split(separator or ","))
    return lambda document: document.get(name) in wanted


def _has(many: str, _variable: str, value: str) -> Callable[[Document], bool]:
    wanted = value.replace("''", "'")
    return lambda document: wanted in (document.get(many) or ())


def _compared(name: str, operator: str, value: str) -> Callable[[Document], bool]:
    compare, wanted = _COMPARE[operator], value.replace("''", "'")
    return lambda document: compare(str(document.get(name) or ""), wanted)


class SimulatedSearchAdmin:
    def __init__(self, server: SearchServer, network: Network) -> None:
        self._server, self._network = server, network

    async def get_index(self, name: str) -> Any:
        return await self._call("get_index", lambda: _definition(self._server.index(name)), name)

    async def create_or_update_index(self, definition: Any) -> None:
        lengths = [field.vector_search_dimensions for field in definition.fields]
        dimensions = next(length for length in lengths if length)

        def effect() -> None:
            self._server.indexes.setdefault(definition.name, SearchIndex(dimensions))

        await self._call("create_index", effect, definition.name)

    async def delete_index(self, name: str) -> None:
        await self._call("delete_index", lambda: self._server.indexes.pop(name, None), name)

    async def get_alias(self, name: str) -> Any:
        def effect() -> Any:
            if name not in self._server.aliases:
                raise ResourceNotFoundError(f"there is no alias {name}")
            return SimpleNamespace(indexes=[self._server.aliases[name]])

        return await self._call("get_alias", effect, name)

    async def create_or_update_alias(self, alias: Any) -> None:
        (target,) = alias.indexes
        await self._call("set_alias", lambda: self._server.aliases.__setitem__(alias.name, target), target)

    async def list_index_names(self) -> AsyncIterator[str]:
        for name in await self._call("list_indexes", lambda: sorted(self._server.indexes), ""):
            yield name

    async def _call(self, operation: str, effect: Callable[[], Any], about: str) -> Any:
        return await self._network.call("search", operation, effect, ERRORS, about)

    async def close(self) -> None:
        """Nothing to close."""


def _definition(index: SearchIndex) -> Any:
    return SimpleNamespace(fields=[SimpleNamespace(vector_search_dimensions=index.dimensions)])
