"""Memory in memsync for agent frameworks.  Each module needs its framework: see the extras of the package."""

from memsync_adapters.client import Client, MemsyncError

__all__ = ["Client", "MemsyncError"]
