"""Clients of OAuth: those that an operator created, those that registered themselves, and those whose id is the address
of a document about them."""

import secrets
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from allauth.idp.oidc.forms import ClientRegistrationForm
from allauth.idp.oidc.internal.cimd import validate_client_id, validate_metadata
from allauth.idp.oidc.models import Client
from django.conf import settings
from django.core.exceptions import ValidationError

from apps.accounts.services import clients_in_use
from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import AddressRefused, SendFailed
from apps.apikeys import login_throttle, oauth
from text import patterns

DOCUMENT: Final = "https://"  # what the id of a client with a document begins with
DOCUMENT_LIFETIME: Final = timedelta(hours=1)
DOCUMENT_SECONDS: Final = 3.0
DOCUMENT_BYTES: Final = 16 * 1024
UNUSED_LIFETIME: Final = timedelta(days=30)  # of a client that registered itself
MOST_URIS: Final = 20
MOST_URI: Final = 1_000  # characters
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_PLAIN: Final = patterns.compile(r"[!-~]+", patterns.ASCII)
_APP_SCHEME: Final = patterns.compile(r"[a-z][a-z0-9+.-]*", patterns.ASCII)
# Schemes of addresses that a browser would run, read or show itself.
_NO_APP: Final = {
    "about", "blob", "data", "file", "filesystem", "ftp", "https", "javascript", "vbscript", "view-source", "ws", "wss",
}  # fmt: skip


class ClientRefused(Exception):
    """Says why, for the client's developer."""


def find_client(client_id: str) -> Client | None:
    """The client as it is known here; None for an unknown one, and for documents while the setting is off."""
    if client_id.startswith(DOCUMENT) and not settings.OAUTH_CLIENT_DOCUMENTS:
        return None
    return Client.objects.filter(pk=client_id).first()


def learn_client(client_id: str, *, address: str, now: datetime) -> None:
    """Read the document of a client whose id is its address, unless that was done an hour ago or less.

    The request goes through the guarded fetcher; a client that cannot be read stays as it is.  Not inside a
    transaction.  address: of the browser, for the rate limit.  Raises TooManyAttempts.
    """
    if not client_id.startswith(DOCUMENT) or not settings.OAUTH_CLIENT_DOCUMENTS:
        return
    known = Client.objects.filter(pk=client_id).first()
    if known is not None and known.created_at > now - DOCUMENT_LIFETIME:
        return
    login_throttle.count_registration(address, now=now)
    try:
        parsed = validate_client_id(client_id)
        found = get_fetcher().get(
            client_id, {"Accept": "application/json"}, seconds=DOCUMENT_SECONDS, most_bytes=DOCUMENT_BYTES + 1
        )
        if found.status != 200 or len(found.body) > DOCUMENT_BYTES:
            return
        client = validate_metadata(client_id, parsed, orjson.loads(found.body))
        _limit(client, client.get_redirect_uris())
    except (ValidationError, AddressRefused, SendFailed, orjson.JSONDecodeError, ClientRefused):
        return
    client.created_at = now
    client.data = {"document": True}
    client._state.adding = known is None
    client.save()


def register(metadata: Any, *, now: datetime) -> tuple[Client, str | None]:
    """Register a client (RFC 7591); returns it, and its secret unless it is a public one.  Raises ClientRefused."""
    if not isinstance(metadata, dict):
        raise ClientRefused("Send a JSON object.")
    form = ClientRegistrationForm(data=metadata)
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        raise ClientRefused(f"{field}: {' '.join(map(str, errors))}")
    Client.objects.filter(created_at__lt=now - UNUSED_LIFETIME, data__registered=True).exclude(
        pk__in=clients_in_use(now=now)
    ).delete()
    client: Client = form.save(commit=False)
    _limit(client, form.cleaned_data["redirect_uris"])
    client.created_at, client.data = now, {"registered": True}
    return client, _save_with_secret(client)


def create(name: str, redirect_uris: list[str], *, is_public: bool, now: datetime) -> tuple[Client, str | None]:
    """Create a client for an operator; returns as ``register``.  Raises ClientRefused."""
    client = Client(
        name=name[:100], type=Client.Type.PUBLIC if is_public else Client.Type.CONFIDENTIAL, created_at=now, data={}
    )
    _limit(client, redirect_uris)
    return client, _save_with_secret(client)


def list_all() -> list[Client]:
    """Every client that is known here, oldest first."""
    return list(Client.objects.order_by("created_at", "pk"))


def remove(client_id: str) -> bool:
    """Whether there was such a client."""
    return bool(Client.objects.filter(pk=client_id).delete()[0])


def is_registered(uri: str, client: Client) -> bool:
    """Whether this is exactly one of the client's addresses; of a program on this computer, with any port."""
    registered = client.get_redirect_uris()
    if uri in registered or not _is_loopback(uri):
        return uri in registered
    return any(_is_loopback(one) and _without_port(one) == _without_port(uri) for one in registered)


def check_redirect_uri(uri: str) -> None:
    """Raises ClientRefused unless codes may be sent there: to HTTPS, to a program on the person's computer, or to an
    app by its own scheme."""
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018  (raises for a port that is none)
    except ValueError:
        raise ClientRefused("redirect_uris: not an address.") from None
    if len(uri) > MOST_URI or not _PLAIN.fullmatch(uri) or parts.fragment or parts.username is not None or "*" in uri:
        raise ClientRefused("redirect_uris: an absolute address without fragment, credentials and wildcards.")
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http":
        if _is_loopback(uri):
            return
        raise ClientRefused("redirect_uris: http only for 127.0.0.1, [::1] and localhost; else https.")
    if not _APP_SCHEME.fullmatch(parts.scheme) or parts.scheme in _NO_APP:
        raise ClientRefused("redirect_uris: https, http on this computer, or the scheme of an app.")


def _limit(client: Client, redirect_uris: list[str]) -> None:
    """Only the one flow is served, whatever the client says it can do.  Raises ClientRefused."""
    if not 1 <= len(redirect_uris) <= MOST_URIS:
        raise ClientRefused(f"redirect_uris: 1 to {MOST_URIS} addresses.")
    for uri in redirect_uris:
        check_redirect_uri(uri)
    client.name = "".join(letter for letter in client.name if letter.isprintable()).strip()
    client.set_redirect_uris(redirect_uris)
    client.set_grant_types(list(oauth.GRANT_TYPES))
    client.set_response_types(["code"])
    client.set_scopes([])


def _save_with_secret(client: Client) -> str | None:
    if client.type == Client.Type.PUBLIC:
        client.secret = "!"  # noqa: S105  (no password hash: nothing matches)
        client.save(force_insert=True)
        return None
    secret = secrets.token_urlsafe(32)
    client.set_secret(secret)
    client.save(force_insert=True)
    return secret


def _is_loopback(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _without_port(uri: str) -> tuple[str | None, str, str]:
    parts = urlsplit(uri)
    return parts.hostname, parts.path, parts.query
