"""WSGI entry point of the web server."""

import os

from django.core.wsgi import get_wsgi_application

from memsync.hardening import serve_quietly
from memsync.loading import exit_if_misconfigured, without_collection

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")
serve_quietly()
with without_collection(), exit_if_misconfigured():
    application = get_wsgi_application()
