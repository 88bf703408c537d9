"""Azure on one machine without Docker: Service Bus, Cosmos DB, AI Search and a Functions host.

For development and tests only: it listens on loopback and is never deployed. `LocalCloud` starts services for
an app's tests. `localcloud.testing` runs their engines inside the test's process.
"""

from localcloud.running import LocalCloud

__all__ = ["LocalCloud"]
