"""A local Cosmos DB account (NoSQL API): an engine over SQLite under a thin HTTP server."""

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.server import CosmosService

__all__ = ["EMULATOR_KEY", "Account", "CosmosService", "Throughput"]
