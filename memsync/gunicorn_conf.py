"""gunicorn: threads over persistent database connections, and JSON logs without paths or queries."""

import os
import resource
from datetime import UTC, datetime
from typing import Any

from memsync.loading import exit_if_misconfigured, without_collection

worker_class = "memsync.web_worker.QuietWorker"  # gthread, except that no thread waits for a client
preload_app = True  # imported once, before the fork: saves two seconds and 60 MB.  The model is loaded after the fork
threads = 8
worker_connections = 2_000  # per process, open event streams included; beyond that, waiting connections are closed
timeout = 60
graceful_timeout = 12
keepalive = 75
max_requests = 20_000
max_requests_jitter = 2_000
# Proxies whose X-Forwarded-Proto is trusted; by default those whose X-Forwarded-For is (TRUSTED_PROXIES).  Unix sockets
# of this machine are always trusted.
forwarded_allow_ips = os.environ.get("FORWARDED_ALLOW_IPS") or ",".join(
    name for name in (os.environ.get("TRUSTED_PROXIES") or "127.0.0.1,::1").split(",") if name.strip() != "unix"
)
accesslog = None  # our own middleware logs requests: the route, never the path
logconfig_dict = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "memsync.log_format.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "gunicorn.error": {"level": "INFO", "handlers": ["stderr"], "propagate": False},
        "gunicorn.access": {"level": "CRITICAL", "handlers": [], "propagate": False},
    },
}


# Client and database connections use open files, of which many systems allow only 1024 unless the limit is raised.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(_soft, min(_hard, 4096)), _hard))


_SAMPLE = (
    "I live in Lisbon with my sister Ana, who works at Siemens. Remind me to call Dr. Reed tomorrow at 8 pm! "
    "We moved here last March; from now on always answer me in German. Is it allowed, as a diabetic?"
)


def when_ready(server: Any) -> None:
    """Import all views before the fork, instead of in each process's first request.

    Fails, so that the server does not start, if an adapter cannot be created.
    """
    from django.urls import get_resolver

    from apps.adapters.instances import make_adapters

    with exit_if_misconfigured():
        make_adapters()
    # Garbage collection then neither scans what is loaded here nor copies its pages per process.
    with without_collection():
        from text.extraction.extractor import read_turn

        _ = get_resolver().url_patterns
        # Patterns are compiled on first use, which takes a quarter of a second; do it before the first request.
        read_turn(_SAMPLE, role="user", now=datetime(2026, 1, 1, tzinfo=UTC))


def post_worker_init(worker: Any) -> None:
    """Load the models before the first request."""
    from apps.adapters.instances import warm_models

    warm_models()
