"""The database backend (``DATABASES[...]["ENGINE"]``)."""

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django asks the server at the beginning of every request whether a kept connection still works (``SELECT 1``).

    A server that stops, or ends a connection, closes the socket, which then has something to read.  So only such a
    connection is asked: it saves a round trip in every request (docs/adr/0059-health-checks-without-a-query.md).
    """

    def close_if_health_check_failed(self) -> None:
        if self.connection is not None and not self.connection.closed and not _has_input(self.connection.fileno()):
            self.health_check_done = True
        super().close_if_health_check_failed()


def _has_input(socket: int) -> bool:
    """Whether there is something to read: data, the end of the stream, or an error."""
    waiting = select.poll()
    waiting.register(socket, select.POLLIN)
    return bool(waiting.poll(0))
