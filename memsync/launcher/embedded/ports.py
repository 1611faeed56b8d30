"""TCP ports: find a free one, and refuse one that is taken."""

import errno
import socket

from memsync.launcher.embedded.errors import PortInUse


def free_port() -> int:
    """A loopback TCP port on which no process listens at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def refuse_taken_port(host: str, port: int) -> None:
    """Raise PortInUse if a process listens on the port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortInUse(
                    f"Port {port} on {host} is in use: stop what listens there, or choose another."
                ) from error
            raise PortInUse(f"Port {port} on {host} cannot be used: {error.strerror}.") from error
