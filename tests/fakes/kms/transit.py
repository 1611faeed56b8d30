"""The transit engine of Vault and OpenBao, as much of it as VaultTransit speaks to.

https://developer.hashicorp.com/vault/api-docs/secret/transit
"""

import base64
import binascii
import hashlib
import os
from typing import Any, Final

from apps.adapters.kms.fake import Changed, seal, unseal
from tests.fakes.service import FakeAnswer, FakeService, Request

_AUTHENTICATION_FAILED: Final = "cipher: message authentication failed"


class FakeTransit(FakeService):
    """One key, derived by default.  token: the only one that is let in.

    ``rotate`` adds a version; ``min_decryption_version`` closes those below it; ``sealed``: as Vault after a restart.
    """

    content_type = "application/json"

    def __init__(self, *, key: str = "memsync", mount: str = "transit", derived: bool = True) -> None:
        self.key: Final = key
        self.mount: Final = mount
        self.derived: Final = derived
        self.token = "only-for-tests"
        self.min_decryption_version = 1
        self.sealed = False
        self._versions: Final = [os.urandom(32)]
        super().__init__()

    def rotate(self) -> int:
        self._versions.append(os.urandom(32))
        return len(self._versions)

    def answer(self, request: Request) -> FakeAnswer:
        if self.sealed:
            return _refuse(503, "Vault is sealed")
        operation, _, name = request.path.removeprefix(f"/v1/{self.mount}/").partition("/")
        self.calls[operation] += 1
        if request.headers.get("x-vault-token") != self.token:
            return self.answer_denied()
        if operation == "keys" and request.method == "GET":
            return self._describe() if name == self.key else FakeAnswer(404, {"errors": []})
        if name != self.key:  # the policy allows no one to make a key by encrypting with it
            return self.answer_denied() if operation == "encrypt" else _refuse(400, "encryption key not found")
        try:
            if operation == "encrypt":
                return self._encrypt(request.json())
            if operation == "decrypt":
                return self._decrypt(request.json())
        except binascii.Error:
            return _refuse(400, "failed to base64-decode what was sent")
        return _refuse(404, "unsupported path")

    def answer_throttled(self) -> FakeAnswer:
        return _refuse(429, "request path: rate limit quota exceeded")

    def answer_denied(self) -> FakeAnswer:
        return _refuse(403, "1 error occurred:\n\t* permission denied\n\n")

    def answer_failed(self) -> FakeAnswer:
        return _refuse(500, "internal error")

    def _describe(self) -> FakeAnswer:
        return _data(
            name=self.key,
            type="aes256-gcm96",
            derived=self.derived,
            exportable=False,
            latest_version=len(self._versions),
            min_decryption_version=self.min_decryption_version,
            min_encryption_version=0,
        )

    def _encrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        if self.derived and not sent.get("context"):
            return _refuse(400, "missing 'context' for key derivation")
        version = len(self._versions)
        blob = seal(self._secret(version, sent), _decode(sent, "associated_data"), _decode(sent, "plaintext"))
        return _data(ciphertext=f"vault:v{version}:{base64.b64encode(blob).decode()}", key_version=version)

    def _decrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        prefix, _, rest = str(sent.get("ciphertext", "")).partition("vault:v")
        number, _, text = rest.partition(":")
        if prefix or not number.isdecimal():
            return _refuse(400, "invalid ciphertext: no prefix")
        version = int(number)
        if version > len(self._versions):
            return _refuse(400, "invalid ciphertext: version is too new")
        if version < self.min_decryption_version:
            return _refuse(400, "ciphertext or signature version is disallowed by policy (too old)")
        blob = base64.b64decode(text, validate=True)
        try:
            plaintext = unseal(self._secret(version, sent), _decode(sent, "associated_data"), blob)
        except Changed:
            return _refuse(400, _AUTHENTICATION_FAILED)
        return _data(plaintext=base64.b64encode(plaintext).decode())

    def _secret(self, version: int, sent: dict[str, Any]) -> bytes:
        context = _decode(sent, "context") if self.derived else b""
        return hashlib.sha256(self._versions[version - 1] + context).digest()


def _decode(sent: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(sent.get(name) or "", validate=True)


def _data(**fields: Any) -> FakeAnswer:
    return FakeAnswer(
        200, {"request_id": "fake", "lease_id": "", "renewable": False, "lease_duration": 0, "data": fields}
    )


def _refuse(status: int, said: str) -> FakeAnswer:
    return FakeAnswer(status, {"errors": [said]})
