"""Key-encryption keys in Google Cloud KMS, over its REST interface.

Google's own library would add gRPC and protobuf for the three calls made here.

Bytes can be corrupted in transit between a service's front ends, and a data key that is corrupted before it is
encrypted is lost.  So each field is sent with its CRC32C, and the checksums of the response are verified.
https://cloud.google.com/kms/docs/data-integrity-guidelines
"""

import base64
import binascii
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KeyMismatch, KeyRefused, KeyUnavailable, Wrapped, bound
from apps.adapters.kms.remote import CONNECT_SECONDS, TIMEOUT_SECONDS, ForkAware, RemoteKeys, require_tls

try:
    import google.auth
    import google_crc32c
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.auth.transport.requests import AuthorizedSession
    from google.oauth2.service_account import Credentials
    from requests import RequestException
except ModuleNotFoundError as missing:
    raise ImproperlyConfigured(
        "Google Cloud KMS needs a library that is not here: pip install memsync[gcp]"
    ) from missing

# At DEBUG it logs request and response bodies, which contain keys.
logging.getLogger("google.auth").setLevel(logging.INFO)

_SCOPES: Final = ["https://www.googleapis.com/auth/cloudkms"]
_KEY: Final = re.compile(r"projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+")
_VERSION: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class GoogleKms(RemoteKeys):
    """Wraps with ``cryptoKeyVersions.encrypt`` under the primary version; ref: the key's resource name.

    Without ``credentials_file`` the application default credentials are used: ``GOOGLE_APPLICATION_CREDENTIALS``, or
    the machine's service account.

    Only Google can tell the version from a ciphertext, so the stored version is part of the associated data.
    """

    name = "gcp"

    def __init__(
        self,
        *,
        key: str,
        credentials_file: str | None = None,
        endpoint: str = "https://cloudkms.googleapis.com",
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(timeout_seconds)
        if not _KEY.fullmatch(key):
            raise ImproperlyConfigured(
                "KMS_OPTIONS must name key: projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY."
            )
        self._key: Final = key
        self._url: Final = f"{require_tls(endpoint)}/v1"

        def session() -> Any:
            credentials = (
                Credentials.from_service_account_file(credentials_file, scopes=_SCOPES)  # type: ignore[no-untyped-call]
                if credentials_file
                else google.auth.default(scopes=_SCOPES)[0]
            )
            return AuthorizedSession(credentials)  # type: ignore[no-untyped-call]  # half of google-auth has no types

        self._session: Final = ForkAware(session)

    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        version = self._current_version()
        path = f"{self._key}/cryptoKeyVersions/{version}"
        answer = self._ask("POST", f"{path}:encrypt", _fields("plaintext", key, self._associated(version, ctx)))
        arrived = answer.get("verifiedPlaintextCrc32c"), answer.get("verifiedAdditionalAuthenticatedDataCrc32c")
        if arrived != (True, True) or answer.get("name") != path:
            raise KeyUnavailable("Google Cloud KMS did not encrypt what it was sent")
        return Wrapped(self.name, self._key, version, _checked(answer, "ciphertext"))

    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        if (wrapped.provider, wrapped.ref) != (self.name, self._key) or not _VERSION.fullmatch(wrapped.version):
            raise KeyMismatch(f"the key was wrapped by {wrapped.provider} {wrapped.ref}, not by {self._key}")
        sent = _fields("ciphertext", wrapped.blob, self._associated(wrapped.version, ctx))
        answer = self._ask("POST", f"{self._key}:decrypt", sent, malformed=KeyMismatch())
        return bytearray(_checked(answer, "plaintext"))

    def _current_version(self) -> str:
        primary = self._ask("GET", self._key).get("primary")
        path, _, version = str(primary.get("name") if isinstance(primary, dict) else "").rpartition("/")
        if path != f"{self._key}/cryptoKeyVersions" or not _VERSION.fullmatch(version):
            raise KeyRefused(f"{self._key} has no primary version to encrypt with")
        return version

    def _associated(self, version: str, ctx: Mapping[str, str]) -> bytes:
        return bound(ctx, "memsync/kek/1", version)

    def _ask(
        self, method: str, path: str, sent: Mapping[str, str] | None = None, *, malformed: AdapterError | None = None
    ) -> dict[str, Any]:
        """Return the response, or raise the error for Google's refusal.  malformed: raised for INVALID_ARGUMENT."""
        try:
            response = self._session.get().request(
                method,
                f"{self._url}/{path}",
                json=sent,
                timeout=(CONNECT_SECONDS, self._seconds),
                # A redirect could lead to an address without TLS.
                allow_redirects=False,
            )
            status, answer = response.status_code, response.json()
        except (GoogleAuthError, RequestException, OSError) as error:
            meaning = self._no_answer(error)
        else:
            if status == 200 and isinstance(answer, dict):
                return answer
            meaning = self._refusal(status, answer, malformed)
        # Raised outside of the except block, so that it does not reference the request, which contains the key.
        raise meaning

    def _no_answer(self, error: Exception) -> AdapterError:
        unreachable = isinstance(error, TransportError | RequestException) or getattr(error, "retryable", False)
        if unreachable:
            return KeyUnavailable(f"Google Cloud KMS cannot be reached now ({type(error).__name__})")
        return KeyRefused(f"memsync has no credentials that Google Cloud takes ({type(error).__name__})")

    def _refusal(self, status: int, answer: Any, malformed: AdapterError | None) -> AdapterError:
        error = answer.get("error") if isinstance(answer, dict) else None
        said = error.get("status") if isinstance(error, dict) else None
        if said == "INVALID_ARGUMENT" and malformed:
            return malformed
        if said in ("PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND", "INVALID_ARGUMENT"):
            return KeyRefused(f"Google Cloud KMS does not let memsync use {self._key} ({said}): look at its role")
        # Disabled version (FAILED_PRECONDITION), throttling or internal error: it may work later.
        return KeyUnavailable(f"Google Cloud KMS cannot use {self._key} now ({said or status})")


def _fields(name: str, value: bytes, associated: bytes) -> dict[str, str]:
    sent = {name: value, "additionalAuthenticatedData": associated}
    texts = {field: base64.b64encode(raw).decode() for field, raw in sent.items()}
    return texts | {f"{field}Crc32c": str(google_crc32c.value(raw)) for field, raw in sent.items()}


def _checked(answer: Mapping[str, Any], name: str) -> bytes:
    """A field of a response, if its checksum matches.  Raises KeyUnavailable."""
    try:
        raw = base64.b64decode(answer[name], validate=True)
        if int(answer[f"{name}Crc32c"]) == google_crc32c.value(raw):
            return raw
    except (KeyError, TypeError, ValueError, binascii.Error):
        pass
    raise KeyUnavailable("the answer of Google Cloud KMS was changed on its way")
