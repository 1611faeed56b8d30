"""gunicorn: threads over persistent database connections, and JSON logs without paths or queries."""

import gc
import os
import resource
from datetime import UTC, datetime
from typing import Any

worker_class = "memsync.web_worker.QuietWorker"  # gthread, whose threads wait for no client
preload_app = True  # imported once, before the fork: two seconds and 60 MB less.  The model is loaded after it
threads = 8
worker_connections = 500  # of a process; beyond them those that wait make room
timeout = 60
graceful_timeout = 12
keepalive = 75
max_requests = 20_000
max_requests_jitter = 2_000
# Whose X-Forwarded-Proto is believed: by default the same whose X-Forwarded-For is (TRUSTED_PROXIES).  A socket of this
# machine is believed in any case.
forwarded_allow_ips = os.environ.get("FORWARDED_ALLOW_IPS") or ",".join(
    name for name in (os.environ.get("TRUSTED_PROXIES") or "127.0.0.1,::1").split(",") if name.strip() != "unix"
)
accesslog = None  # requests are logged by our own middleware: by route, never by path
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


# A connection is an open file, and so are those to the databases: many systems allow 1024 unless they are asked.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(_soft, min(_hard, 4096)), _hard))


_SAMPLE = (
    "I live in Lisbon with my sister Ana, who works at Siemens. Remind me to call Dr. Reed tomorrow at 8 pm! "
    "We moved here last March; from now on always answer me in German. Is it allowed, as a diabetic?"
)


def when_ready(server: Any) -> None:
    """Import every view too before the fork; Django would leave it to each process's first request.

    Where the key provider is not one to start with, do not start.
    """
    from django.urls import get_resolver

    from apps.adapters.instances import get_kms
    from text.extraction.extractor import read_turn

    get_kms()
    _ = get_resolver().url_patterns
    # Patterns are compiled when they are first asked: a quarter of a second that no request should pay.
    read_turn(_SAMPLE, role="user", now=datetime(2026, 1, 1, tzinfo=UTC))
    # What is there by now stays: no collection need look at it again, nor copy its pages into every process.
    gc.collect()
    gc.freeze()


def post_worker_init(worker: Any) -> None:
    """Load the models before the first request."""
    from apps.adapters.instances import warm_models

    warm_models()
