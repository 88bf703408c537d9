"""Tools for an app's tests: faults of running services, and engines inside the test's process."""

from localcloud.clock import Clock
from localcloud.testing.cosmos import CosmosEngine
from localcloud.testing.faults import Faults
from localcloud.testing.servicebus import ServiceBusEngine

__all__ = ["Clock", "CosmosEngine", "Faults", "ServiceBusEngine"]
