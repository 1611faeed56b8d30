"""Key-encryption keys in the transit engine of HashiCorp Vault or OpenBao, which never reveals them.

The transit key is derived: Vault derives a key per tenant from the context of a request.  The whole ctx is also
associated data.  A ciphertext ``vault:v2:base64`` is stored as its version, 2, and its decoded bytes: base64 has spare
bits, and the stored form must be unique, so that any change is detected.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from django.core.exceptions import ImproperlyConfigured

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KeyMismatch, KeyRefused, KeyUnavailable, Wrapped, bound
from apps.adapters.kms.remote import CONNECT_SECONDS, TIMEOUT_SECONDS, ForkAware, RemoteKeys, require_tls

try:
    import hvac
    from hvac import exceptions
    from requests import RequestException
except ModuleNotFoundError as missing:
    raise ImproperlyConfigured("Vault needs a library that is not here: pip install memsync[vault]") from missing

T = TypeVar("T")

_CIPHERTEXT: Final = re.compile(r"vault:v([1-9][0-9]{0,8}):(.+)", re.ASCII)
_VERSION: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_REFUSED: Final = "Vault does not let memsync use the key {}: look at its token and the token's policy"
_NOT_DERIVED: Final = "the transit key {} is not derived, so it keeps no tenant apart: make another with derived=true"


class VaultTransit(RemoteKeys):
    """Wraps with ``transit/encrypt``; ref: ``mount/key``.

    Options that are not given come from Vault's default sources: ``VAULT_ADDR``, ``VAULT_TOKEN``, ``~/.vault-token``,
    ``VAULT_CACERT``.  token_file: read for each call, so that an agent may renew the token in it.

    Vault's own rewrap takes no associated data (https://github.com/hashicorp/vault/issues/29532), so the key passes
    through this process on its way to the current version.
    """

    name = "vault"

    def __init__(
        self,
        *,
        key: str,
        mount: str = "transit",
        url: str | None = None,
        token: str | None = None,
        token_file: str | None = None,
        namespace: str | None = None,
        ca_file: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(timeout_seconds)
        self._key: Final = key
        self._mount: Final = mount
        self._ref: Final = f"{mount}/{key}"
        self._token_file: Final = token_file
        self._is_derived = False

        def client() -> Any:
            made = hvac.Client(
                url=url,
                token=token,
                verify=ca_file,
                namespace=namespace,
                timeout=(CONNECT_SECONDS, timeout_seconds),
                # A redirect could lead to an address without TLS.
                allow_redirects=False,
            )
            require_tls(made.url)
            return made

        client()  # so that a wrong address is reported at the start
        self._client: Final = ForkAware(client)

    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        if not self._is_derived:
            self._current_version()
        answer = self._ask(
            lambda transit: transit.encrypt_data(self._key, _text(key), mount_point=self._mount, **_bound(ctx))
        )
        match = _CIPHERTEXT.fullmatch(_field(answer, "ciphertext", str))
        if match is None:
            raise KeyUnavailable("Vault answered with something that is no transit ciphertext")
        return Wrapped(self.name, self._ref, match[1], _bytes(match[2]))

    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        if (wrapped.provider, wrapped.ref) != (self.name, self._ref) or not _VERSION.fullmatch(wrapped.version):
            raise KeyMismatch(f"the key was wrapped by {wrapped.provider} {wrapped.ref}, not by {self._ref} of Vault")
        ciphertext = f"vault:v{wrapped.version}:{_text(wrapped.blob)}"
        answer = self._ask(
            lambda transit: transit.decrypt_data(self._key, ciphertext, mount_point=self._mount, **_bound(ctx)),
            malformed=KeyMismatch(),
        )
        return bytearray(_bytes(_field(answer, "plaintext", str)))

    def _current_version(self) -> str:
        answer = self._ask(lambda transit: transit.read_key(self._key, mount_point=self._mount))
        if not _field(answer, "derived", bool):
            raise KeyRefused(_NOT_DERIVED.format(self._ref))
        self._is_derived = True
        return str(_field(answer, "latest_version", int))

    def _ask(self, call: Callable[[Any], T], *, malformed: AdapterError | None = None) -> T:
        """Return the response, or raise the error for Vault's refusal.  malformed: raised for an invalid request."""
        client = self._client.get()
        if self._token_file is not None:
            client.token = self._read_token(self._token_file)
        try:
            return call(client.secrets.transit)
        except (exceptions.VaultError, RequestException) as error:
            meaning = self._meaning(error, malformed)
        # Raised outside of the except block, so that it does not reference the request, which contains the key.
        raise meaning

    def _read_token(self, path: str) -> str:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise KeyUnavailable(f"{path}, which holds Vault's token, cannot be read: {error.strerror}") from None

    def _meaning(self, error: Exception, malformed: AdapterError | None) -> AdapterError:
        if isinstance(error, exceptions.Forbidden | exceptions.Unauthorized):
            return KeyRefused(_REFUSED.format(self._ref))
        if isinstance(error, exceptions.InvalidPath):
            return KeyRefused(f"Vault has no transit key {self._ref}")
        if isinstance(error, exceptions.InvalidRequest):
            said = str(error)
            if "(too old)" in said or "too new" in said:
                return KeyUnavailable(f"{self._ref} has no such version, or its min_decryption_version is above it")
            if "key not found" in said:
                return KeyRefused(f"Vault has no transit key {self._ref}")
            return malformed or KeyRefused(
                f"Vault does not take what is asked of {self._ref}: is it of type aes256-gcm96?"
            )
        return KeyUnavailable(f"Vault cannot be reached now ({type(error).__name__})")


def _bound(ctx: Mapping[str, str]) -> dict[str, str]:
    tenant = {name: value for name, value in ctx.items() if name == "t"}
    return {
        "context": _text(bound(tenant, "memsync/kek/1")),
        "associated_data": _text(bound(ctx, "memsync/kek/1")),
    }


def _field(answer: Any, name: str, kind: type[T]) -> T:
    """A field of a response's data.  hvac returns no dict for a response that is not JSON, as from a proxy."""
    value = answer["data"].get(name) if isinstance(answer, dict) and isinstance(answer.get("data"), dict) else None
    if not isinstance(value, kind):
        raise KeyUnavailable("something answered that is not Vault")
    return value


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        pass
    raise KeyUnavailable("something answered that is not Vault")
