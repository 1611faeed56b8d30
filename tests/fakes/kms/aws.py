"""AWS KMS, as much of it as AwsKms speaks to: JSON 1.1, the operation in ``X-Amz-Target``.

https://docs.aws.amazon.com/kms/latest/APIReference/
A blob is the id of the key's material, 32 bytes, and what was sealed with that material.
"""

import base64
import hashlib
import json
import os
from typing import Any, Final

from apps.adapters.kms.fake import Changed, seal, unseal
from tests.fakes.service import FakeAnswer, FakeService, Request

_TARGET: Final = "TrentService."
_ID_BYTES: Final = 32


class FakeAws(FakeService):
    """One key.  access_key_id: the only one that is let in; signatures are not checked.

    ``rotate`` gives the key new material; ``enabled`` off: as a key that an administrator has disabled.
    """

    content_type = "application/x-amz-json-1.1"

    def __init__(self, *, account: str = "111122223333") -> None:
        self.arn: Final = f"arn:aws:kms:eu-central-1:{account}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
        self.access_key_id: Final = "ONLYFORTESTS"
        self.enabled = True
        self._materials: Final[dict[bytes, bytes]] = {}
        self._current = b""
        self.rotate()
        super().__init__()

    def rotate(self) -> str:
        material = os.urandom(32)
        self._current = hashlib.sha256(material).digest()
        self._materials[self._current] = material
        return self._current.hex()

    def answer(self, request: Request) -> FakeAnswer:
        operation = request.headers.get("x-amz-target", "").removeprefix(_TARGET)
        self.calls[operation] += 1
        if f"Credential={self.access_key_id}/" not in request.headers.get("authorization", ""):
            return _refuse("UnrecognizedClientException", "The security token included in the request is invalid.")
        sent = request.json()
        answers = {
            "DescribeKey": self._describe,
            "Encrypt": self._encrypt,
            "Decrypt": self._decrypt,
            "ReEncrypt": self._re_encrypt,
        }
        if operation not in answers:
            return _refuse("UnknownOperationException")
        if any(sent.get(name, self.arn) != self.arn for name in ("KeyId", "SourceKeyId", "DestinationKeyId")):
            return _refuse("NotFoundException", "Invalid keyId")
        if not self.enabled and operation != "DescribeKey":
            return _refuse("DisabledException", f"{self.arn} is disabled.")
        try:
            return answers[operation](sent)
        except Changed:
            return _refuse("InvalidCiphertextException")

    def answer_throttled(self) -> FakeAnswer:
        return _refuse("ThrottlingException", "Rate exceeded")

    def answer_denied(self) -> FakeAnswer:
        return _refuse("AccessDeniedException", "User is not authorized to perform this")

    def answer_failed(self) -> FakeAnswer:
        return FakeAnswer(500, {"__type": "KMSInternalException", "message": "internal"})

    def _describe(self, sent: dict[str, Any]) -> FakeAnswer:
        metadata = {
            "Arn": self.arn,
            "KeyId": self.arn.rpartition("/")[2],
            "Enabled": self.enabled,
            "KeyState": "Enabled" if self.enabled else "Disabled",
            "CurrentKeyMaterialId": self._current.hex(),
        }
        return FakeAnswer(200, {"KeyMetadata": metadata})

    def _encrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        blob = self._sealed(base64.b64decode(sent["Plaintext"]), self._context(sent, "EncryptionContext"))
        return FakeAnswer(200, {"CiphertextBlob": blob, "KeyId": self.arn, "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"})

    def _decrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        text, material = self._opened(sent, "EncryptionContext")
        return FakeAnswer(
            200, {"Plaintext": base64.b64encode(text).decode(), "KeyId": self.arn, "KeyMaterialId": material}
        )

    def _re_encrypt(self, sent: dict[str, Any]) -> FakeAnswer:
        text, material = self._opened(sent, "SourceEncryptionContext")
        return FakeAnswer(
            200,
            {
                "CiphertextBlob": self._sealed(text, self._context(sent, "DestinationEncryptionContext")),
                "KeyId": self.arn,
                "SourceKeyId": self.arn,
                "SourceKeyMaterialId": material,
                "DestinationKeyMaterialId": self._current.hex(),
            },
        )

    def _sealed(self, text: bytes, context: bytes) -> str:
        blob = self._current + seal(self._materials[self._current], context, text)
        return base64.b64encode(blob).decode()

    def _opened(self, sent: dict[str, Any], context: str) -> tuple[bytes, str]:
        blob = base64.b64decode(sent["CiphertextBlob"])
        material = blob[:_ID_BYTES]
        if material not in self._materials:
            raise Changed
        text = unseal(self._materials[material], self._context(sent, context), blob[_ID_BYTES:])
        return text, material.hex()

    def _context(self, sent: dict[str, Any], name: str) -> bytes:
        return json.dumps([self.arn, sorted(sent.get(name, {}).items())]).encode()


def _refuse(kind: str, message: str | None = None) -> FakeAnswer:
    return FakeAnswer(400, {"__type": kind, "message": message})
