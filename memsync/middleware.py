"""Middleware: security headers, plain error pages, session limits, form limits and known devices."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils import timezone

from apps.accounts import devices, sessions
from apps.api.request_context import request_context
from apps.web.pages import Refusal, refusal
from memsync.headers import HEADERS

OF_THE_BODY: Final = ("Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Language")
STRANGERS_FORM: Final = 64 * 1024  # bytes
FORMS: Final = ("/app/", "/admin/", "/oauth/")
Next = Callable[[HttpRequest], HttpResponseBase]

PAGES: Final = {
    400: "This request cannot be understood.",
    403: "You may not do this, or the form is too old: go back, reload it and try again.",
    404: "There is no such page.",
    405: "This page does not take that method.",
    413: "This is too large.",
    500: "Something failed here. The log has the details under the request ID.",
}


PAGE: Final = """<!doctype html>
<html lang="en" data-colours="auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · memsync</title>
<link rel="icon" type="image/svg+xml" href="{static}memsync/favicon.svg">
<link rel="stylesheet" href="{static}web/style.css">
</head>
<body>
<main>
<div class="narrow card">
<h1>{title}</h1>
<p>{sentence}</p>
<p class="meta">{status} · request <code>{request_id}</code></p>
<p class="actions"><a class="button" href="{back}">To the first page</a></p>
</div>
</main>
</body>
</html>
"""


class ResponseHeaders:
    """Set default headers on every response; those set by a view or another middleware stay."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if response.status_code >= 400 or not request.path_info.startswith(settings.STATIC_URL):
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class PlainErrorPages:
    """Replace HTML error pages by short ones: Django's may show the path, and with DEBUG much more.

    Other errors already use the API's envelope.  No template is rendered: that may be what failed.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code == 404 and (address := _console_page(request)):
            return HttpResponseRedirect(address)
        sentence = PAGES.get(response.status_code)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if sentence is None or not is_page or isinstance(response, Refusal):
            return response
        if request.path_info.startswith("/app/") and response.status_code < 500:
            return refusal(request, sentence, status=response.status_code)
        response.close()
        status = HTTPStatus(response.status_code)
        page = PAGE.format(
            title=status.phrase,
            status=status.value,
            sentence=sentence,
            request_id=request_context(request).request_id,
            back=_root(request),
            static=settings.STATIC_URL,
        )
        kept = {name: value for name, value in response.headers.items() if name not in OF_THE_BODY}
        plain = HttpResponse(page, status=response.status_code, headers=kept)
        plain.cookies = response.cookies
        return plain


def _console_page(request: HttpRequest) -> str:
    """The page of the console that a browser means by an address without one: the console itself for the site's root,
    or the page without the slash at the end."""
    if request.method != "GET" or "text/html" not in request.headers.get("Accept", ""):
        return ""
    path, mark, query = request.get_full_path().partition("?")
    if path in ("/", "/app"):
        return "/app/"
    bare = path.rstrip("/")
    try:
        is_page = path != bare and bare.startswith("/app/") and bool(resolve(bare))
    except Resolver404:
        return ""
    return f"{bare}{mark}{query}" if is_page else ""


def _root(request: HttpRequest) -> str:
    return "/app/" if request.path_info.startswith("/app/") else "/admin/"


class SessionLimits:
    """End a session that was idle too long, or that exceeded its maximum age, before the request is handled."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            now = timezone.now()
            if sessions.is_over(request.session, now=now):
                request.session.flush()
                request.user = AnonymousUser()
            else:
                sessions.note_use(request.session, now=now)
        return self.get_response(request)


class StrangersForms:
    """Refuse a large form from an anonymous user before its body is read.

    A thread waits while a large body arrives, and no form for anonymous users needs that much.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        announced = request.META.get("CONTENT_LENGTH") or ""
        is_long = announced.isdecimal() and int(announced) > STRANGERS_FORM
        if is_long and request.path_info.startswith(FORMS) and not request.user.is_authenticated:
            return HttpResponse(status=413, content_type="text/html")
        return self.get_response(request)


class KnownDevices:
    """Mark the browser as known after a user has signed in with it."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        devices.write(request, response)
        return response
