"""Google Cloud KMS over REST, as much of it as GoogleKms speaks to.

https://cloud.google.com/kms/docs/reference/rest
A blob is the version that made it, 4 bytes, and what was sealed with that version.
"""

import base64
import binascii
import json
import os
from typing import Any, Final

from apps.adapters.kms.fake import Changed, seal, unseal
from tests.fakes.service import FakeAnswer, FakeService, Request

_EMAIL: Final = "memsync@memsync-tests.iam.gserviceaccount.com"
_VERSION_BYTES: Final = 4
_CASTAGNOLI: Final = 0x82F63B78


class FakeGoogle(FakeService):
    """One key, whose newest version is primary.  A caller with a token of its service account is let in.

    ``rotate`` adds a version; ``disabled`` holds versions that an administrator has disabled.
    changes_answers: bytes of what it says change on their way.  loses_fields: it does not see the checksums sent.
    """

    content_type = "application/json; charset=UTF-8"

    def __init__(self, *, project: str = "memsync-tests") -> None:
        self.key: Final = f"projects/{project}/locations/europe-west3/keyRings/memsync/cryptoKeys/kek"
        self.disabled: Final[set[int]] = set()
        self.changes_answers = False
        self.loses_fields = False
        self._versions: Final = [os.urandom(32)]
        super().__init__()

    def rotate(self) -> int:
        self._versions.append(os.urandom(32))
        return len(self._versions)

    def service_account(self, private_key: str) -> dict[str, str]:
        """The content of a service account's file.  private_key: RSA, PEM.

        It belongs to a universe of its own, where the client library makes its own tokens and asks Google nothing.
        """
        return {
            "type": "service_account",
            "project_id": "memsync-tests",
            "private_key_id": "1",
            "private_key": private_key,
            "client_email": _EMAIL,
            "client_id": "1",
            "token_uri": f"{self.url}/token",
            "universe_domain": "memsync.invalid",
        }

    def answer(self, request: Request) -> FakeAnswer:
        name, _, operation = request.path.removeprefix("/v1/").partition(":")
        self.calls[operation or "get"] += 1
        if _issuer(request.headers.get("authorization", "")) != _EMAIL:
            return _refuse(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        key, _, version = name.partition("/cryptoKeyVersions/")
        if key != self.key:
            return _refuse(404, "NOT_FOUND", f"{key} not found.")
        if operation == "encrypt":
            return self._encrypt(request.json(), int(version or len(self._versions)))
        if operation == "decrypt" and not version:
            return self._decrypt(request.json())
        if not operation:
            return FakeAnswer(200, {"name": self.key, "purpose": "ENCRYPT_DECRYPT", "primary": self._primary()})
        return _refuse(404, "NOT_FOUND", "no such method")

    def answer_throttled(self) -> FakeAnswer:
        return _refuse(429, "RESOURCE_EXHAUSTED", "Quota exceeded")

    def answer_denied(self) -> FakeAnswer:
        return _refuse(403, "PERMISSION_DENIED", "Permission denied on resource")

    def answer_failed(self) -> FakeAnswer:
        return _refuse(503, "UNAVAILABLE", "The service is currently unavailable.")

    def _primary(self) -> dict[str, str]:
        return {"name": self._path(len(self._versions)), "state": "ENABLED", "algorithm": "GOOGLE_SYMMETRIC_ENCRYPTION"}

    def _encrypt(self, sent: dict[str, Any], version: int) -> FakeAnswer:
        if version in self.disabled:
            return self._refuse_disabled(version)
        plaintext, associated = _decode(sent, "plaintext"), _decode(sent, "additionalAuthenticatedData")
        if not self.loses_fields and not _arrived(sent, plaintext=plaintext, additionalAuthenticatedData=associated):
            return _refuse(400, "INVALID_ARGUMENT", "The checksum in field plaintext_crc32c did not match the data.")
        sealed = seal(self._versions[version - 1], associated, plaintext)
        blob = version.to_bytes(_VERSION_BYTES, "big") + sealed
        return FakeAnswer(
            200,
            {
                "name": self._path(version),
                **self._sent_off("ciphertext", blob),
                "verifiedPlaintextCrc32c": not self.loses_fields,
                "verifiedAdditionalAuthenticatedDataCrc32c": not self.loses_fields,
                "protectionLevel": "SOFTWARE",
            },
        )

    def _decrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        blob, associated = _decode(sent, "ciphertext"), _decode(sent, "additionalAuthenticatedData")
        if not self.loses_fields and not _arrived(sent, ciphertext=blob, additionalAuthenticatedData=associated):
            return _refuse(400, "INVALID_ARGUMENT", "The checksum in field ciphertext_crc32c did not match the data.")
        version = int.from_bytes(blob[:_VERSION_BYTES], "big")
        if version in self.disabled:
            return self._refuse_disabled(version)
        try:
            if not 0 < version <= len(self._versions):
                raise Changed
            plaintext = unseal(self._versions[version - 1], associated, blob[_VERSION_BYTES:])
        except Changed:
            return _refuse(400, "INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid.")
        is_primary = version == len(self._versions)
        return FakeAnswer(200, {**self._sent_off("plaintext", plaintext), "usedPrimary": is_primary})

    def _path(self, version: int) -> str:
        return f"{self.key}/cryptoKeyVersions/{version}"

    def _refuse_disabled(self, version: int) -> FakeAnswer:
        said = f"{self._path(version)} is not enabled, current state is: DISABLED."
        return _refuse(400, "FAILED_PRECONDITION", said)

    def _sent_off(self, name: str, value: bytes) -> dict[str, str]:
        arrives = bytes([value[0] ^ 1]) + value[1:] if self.changes_answers else value
        return {name: base64.b64encode(arrives).decode(), f"{name}Crc32c": str(crc32c(value))}


def _issuer(authorization: str) -> str:
    """Who says to have made the token; its signature is not checked."""
    try:
        claims = authorization.removeprefix("Bearer ").split(".")[1]
        content = json.loads(base64.urlsafe_b64decode(claims + "=="))
    except (IndexError, ValueError, binascii.Error):
        return ""
    return str(content.get("iss"))


def crc32c(raw: bytes) -> int:
    """RFC 3720, appendix B.4; by itself, so that the library that the client uses is checked against another."""
    crc = 0xFFFFFFFF
    for byte in raw:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _arrived(sent: dict[str, Any], **values: bytes) -> bool:
    return all(sent.get(f"{name}Crc32c") == str(crc32c(value)) for name, value in values.items())


def _decode(sent: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(sent.get(name) or "", validate=True)


def _refuse(code: int, status: str, message: str) -> FakeAnswer:
    return FakeAnswer(code, {"error": {"code": code, "message": message, "status": status}})
