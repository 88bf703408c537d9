"""For the tests of an app: faults of services that run, and engines inside the test's process."""

from localcloud.testing.faults import Faults

__all__ = ["Faults"]
