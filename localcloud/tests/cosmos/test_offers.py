"""Offers have short unique ids, however many there are."""

import pytest

from localcloud.clock import SystemClock
from localcloud.cosmos import account as module
from localcloud.cosmos.account import Account, Throughput


def test_an_offer_whose_id_is_taken_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["AAAA", "AAAA", "AAAA", "BBBB"])
    monkeypatch.setattr(module, "offer_rid", lambda: next(drawn))
    account = Account(None, SystemClock())
    try:
        account.create_database({"id": "d"}, Throughput())
        for name in ("one", "two"):
            definition = {"id": name, "partitionKey": {"paths": ["/id"], "kind": "Hash"}}
            account.create_container("d", definition, Throughput("400"))
        assert {offer["id"] for offer in account.offers()} == {"AAAA", "BBBB"}
    finally:
        account.close()
