"""Azure on one machine without Docker: Service Bus, Cosmos DB, AI Search and a Functions host.

For development and tests: loopback only, and never part of what is deployed. `LocalCloud` starts services for
the tests of an app; `localcloud.testing` has their engines inside the test's process.
"""

from localcloud.running import LocalCloud

__all__ = ["LocalCloud"]
