"""Batches of up to 100 operations in one request.

A transactional batch has one partition key, is atomic, and is one entry in the change feed. In a batch
without `atomic` (the JavaScript client's bulk mode), each operation has its own key and succeeds or fails
independently.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson

from localcloud.cosmos.charges import read_charge, write_charge
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import MAX_DOCUMENT_BYTES, Conditions, Documents, Written
from localcloud.cosmos.errors import CosmosError, bad_request, parse_json, too_large
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.sessions import Replica
from localcloud.cosmos.store import Row, Store

MAX_OPERATIONS = 100
_FAILED_DEPENDENCY = {"statusCode": 424, "requestCharge": 0}


class _Failed(Exception):  # noqa: N818 - carries the result out of the transaction
    def __init__(self, position: int, result: dict[str, Any]) -> None:
        super().__init__(position)
        self.position = position
        self.result = result


@dataclass
class Batches:
    store: Store
    replica: Replica
    documents: Documents

    def run_atomic(
        self, container: Container, key: PartitionKey, body: bytes, *, minimal: bool = False
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return the status and the result of each operation.

        A minimal response has bodies only for reads.
        """
        operations = _parse(body)
        before = container.lsn, list(container.lsns), container.next_k, self.replica.position()
        container.batch_lsn = container.lsn + 1
        try:
            with self.store.all_or_nothing():
                results = [self._step(container, key, *item) for item in enumerate(operations)]
        except _Failed as failure:
            container.lsn, container.lsns[:], container.next_k, position = before
            self.replica.rewind(position)
            results = [_FAILED_DEPENDENCY] * len(operations)
            results[failure.position] = failure.result
            return 207, results
        finally:
            container.batch_lsn = None
        if minimal:
            for operation, result in zip(operations, results, strict=True):
                if operation.get("operationType") != "Read":
                    result.pop("resourceBody", None)
        return 200, results

    def run_bulk(self, container: Container, body: bytes) -> tuple[int, list[dict[str, Any]]]:
        results = []
        for operation in _parse(body):
            try:
                header = operation.get("partitionKey")
                if not isinstance(header, str):
                    raise bad_request("an operation of a bulk request names its partitionKey")
                results.append(self._perform(container, container.key.of_header(header), operation))
            except CosmosError as error:
                results.append(_error_result(error))
        failed = any(result["statusCode"] >= HTTPStatus.BAD_REQUEST for result in results)
        return 207 if failed else 200, results

    def _step(
        self, container: Container, key: PartitionKey, position: int, operation: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return self._perform(container, key, operation)
        except CosmosError as error:
            raise _Failed(position, _error_result(error)) from None

    def _perform(self, container: Container, key: PartitionKey, operation: dict[str, Any]) -> dict[str, Any]:
        documents = self.documents
        kind, doc_id = operation.get("operationType"), operation.get("id")
        body: Any = operation.get("resourceBody")
        conditions = Conditions(operation.get("ifMatch"), operation.get("ifNoneMatch"))
        if kind in ("Create", "Upsert", "Replace") and not isinstance(body, dict):
            raise bad_request(f"{kind} needs a resourceBody")
        if kind in ("Read", "Delete", "Replace", "Patch") and not isinstance(doc_id, str):
            raise bad_request(f"{kind} needs an id")
        match kind:
            case "Create":
                return _written(documents.create(container, key, body))
            case "Upsert":
                return _written(documents.upsert(container, key, body, conditions))
            case "Replace":
                return _written(documents.replace(container, key, str(doc_id), body, conditions))
            case "Patch":
                return _written(documents.patch(container, key, str(doc_id), body, conditions))
            case "Delete":
                return _written(documents.delete(container, key, str(doc_id), conditions))
            case "Read":
                row = documents.read(container, self.replica.primary(container), str(doc_id), key)
                return _result(200, row, read_charge(len(row.body)))
            case _:
                raise bad_request(f"a batch does not support the operation type {kind!r}")


def _parse(body: bytes) -> list[dict[str, Any]]:
    if len(body) > MAX_DOCUMENT_BYTES:
        raise too_large(f"Request size is too large: a batch has at most {MAX_DOCUMENT_BYTES} bytes")
    operations = parse_json(body)
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise bad_request("a batch is a JSON array of operations")
    if not operations:
        raise bad_request("Batch request has no operations.")
    if len(operations) > MAX_OPERATIONS:
        raise bad_request(
            f"Batch request has more operations than what is supported. It takes at most {MAX_OPERATIONS}."
        )
    return operations


def _written(written: Written) -> dict[str, Any]:
    if written.row is None:
        return {"statusCode": written.status, "requestCharge": write_charge(0)}
    return _result(written.status, written.row, write_charge(len(written.row.body)))


def _result(status: int, row: Row, charge: float) -> dict[str, Any]:
    body = orjson.Fragment(row.body)
    return {"statusCode": status, "requestCharge": charge, "eTag": row.etag, "resourceBody": body}


def _error_result(error: CosmosError) -> dict[str, Any]:
    return {
        "statusCode": error.status,
        "subStatusCode": error.substatus,
        "requestCharge": 0,
        "message": str(error),
    }
