"""Django's PostgreSQL backend, with health checks of connections that ask the server only if there is a reason to."""
