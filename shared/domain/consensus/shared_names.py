"""Names that several addresses of a list go by: one person, or several? An operator decides."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shared.documents.values import SourceProfile
from shared.domain.consensus.people import display_name, fold_address, full_name_key, is_gateway_name

Signed = tuple[str, str]
"""A name as somebody wrote it, and their address."""


class SharedName(NamedTuple):
    name: str
    """As most mails have it."""
    addresses: tuple[str, ...]
    """Those with the most mails first."""


def shared_names(signed: Iterable[Signed], profile: SourceProfile) -> list[SharedName]:
    """The full names under several addresses that nobody has decided on; those of most addresses first."""
    names: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, address in signed:
        shown = display_name(name, address)
        for key in [] if is_gateway_name(name) or "@" not in address else full_name_key(shown):
            names[key][shown] += 1
            counts[key][fold_address(address)] += 1
    found = [
        SharedName(_most(names[key])[0], tuple(_most(addresses)))
        for key, addresses in counts.items()
        if len(addresses) > 1 and not _is_decided(addresses.keys(), profile)
    ]
    return sorted(found, key=lambda one: (-len(one.addresses), one.name))


def _most(counts: dict[str, int]) -> list[str]:
    return sorted(counts, key=lambda one: (-counts[one], one))


def _is_decided(addresses: Iterable[str], profile: SourceProfile) -> bool:
    """Whether one group that an operator made has all of them."""
    wanted = set(addresses)
    return any(wanted <= group for group in _groups(profile))


def _groups(profile: SourceProfile) -> Iterator[set[str]]:
    for addresses in (*profile.aliases, *profile.namesakes):
        yield {fold_address(one) for one in addresses}
