"""Key-encryption keys in AWS KMS.

KMS rotates a key in place: its ARN stays and its key material changes.  The stored version is the id of the material,
which shows which rows still have to be re-wrapped.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from django.core.exceptions import ImproperlyConfigured

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KeyMismatch, KeyRefused, KeyUnavailable, Wrapped, bound
from apps.adapters.kms.remote import CONNECT_SECONDS, TIMEOUT_SECONDS, ForkAware, RemoteKeys, require_tls

try:
    import boto3.session
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError
except ModuleNotFoundError as missing:
    raise ImproperlyConfigured("AWS KMS needs a library that is not here: pip install memsync[aws]") from missing

T = TypeVar("T")

# At DEBUG it logs request and response bodies, which contain keys.
logging.getLogger("botocore").setLevel(logging.INFO)

_ARN: Final = re.compile(r"arn:[a-z-]+:kms:([a-z0-9-]+):[0-9]{12}:key/[A-Za-z0-9-]+")
_UNVERSIONED: Final = "-"  # for keys in a custom key store, which are not rotated in place
_BLOB_BYTES: Final = 6144

_MISMATCH: Final = {"InvalidCiphertextException", "IncorrectKeyException"}
_REFUSED: Final = {
    "AccessDeniedException",
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "InvalidClientTokenId",
    "InvalidKeyUsageException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "NotFoundException",
    "UnrecognizedClientException",
    "ValidationException",
}


class AwsKms(RemoteKeys):
    """Wraps with ``Encrypt``; ref: the key's ARN.

    Credentials that are not given come from AWS's default sources: environment, files, the machine's role.
    """

    name = "aws"

    def __init__(
        self,
        *,
        key_arn: str,
        endpoint_url: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
        profile: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(timeout_seconds)
        match = _ARN.fullmatch(key_arn)
        if match is None:
            # An alias could be moved to another key; then nothing wrapped before could be unwrapped.
            raise ImproperlyConfigured("KMS_OPTIONS must name key_arn: arn:aws:kms:REGION:ACCOUNT:key/ID, no alias.")
        self._arn: Final = key_arn
        endpoint = require_tls(endpoint_url) if endpoint_url else None
        config = Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=timeout_seconds, retries={"total_max_attempts": 1}
        )

        def client() -> Any:
            session = boto3.session.Session(
                aws_access_key_id=access_key_id,
                aws_secret_access_key=secret_access_key,
                aws_session_token=session_token,
                profile_name=profile,
                region_name=match[1],
            )
            return session.client("kms", endpoint_url=endpoint, config=config)

        self._client: Final = ForkAware(client)

    def _wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        context = _context(ctx)
        blob = self._ask(
            lambda kms: kms.encrypt(KeyId=self._arn, Plaintext=key, EncryptionContext=context)["CiphertextBlob"]
        )
        # Encrypt does not return the material's id, and reading the current one separately could miss a rotation.
        opened = self._decrypt(blob, context)
        if opened["Plaintext"] != key:
            raise KeyMismatch
        return Wrapped(self.name, self._arn, _material(opened, "KeyMaterialId"), blob)

    def _try_both_ways(self) -> None:
        self._wrap(bytes(32), {"p": "health"})  # ``_wrap`` also decrypts its result

    def _unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        self._require_ours(wrapped)
        opened = self._decrypt(wrapped.blob, _context(ctx))
        if _material(opened, "KeyMaterialId") != wrapped.version:
            raise KeyMismatch
        return bytearray(opened["Plaintext"])

    def _rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        self._require_ours(wrapped)
        context = _context(ctx)
        answer = self._ask(
            lambda kms: kms.re_encrypt(
                CiphertextBlob=wrapped.blob,
                SourceKeyId=self._arn,
                SourceEncryptionContext=context,
                DestinationKeyId=self._arn,
                DestinationEncryptionContext=context,
            )
        )
        if _material(answer, "SourceKeyMaterialId") != wrapped.version:
            raise KeyMismatch
        return Wrapped(self.name, self._arn, _material(answer, "DestinationKeyMaterialId"), answer["CiphertextBlob"])

    def _current_version(self) -> str:
        return _material(
            self._ask(lambda kms: kms.describe_key(KeyId=self._arn)["KeyMetadata"]), "CurrentKeyMaterialId"
        )

    def _decrypt(self, blob: bytes, context: Mapping[str, str]) -> dict[str, Any]:
        return self._ask(lambda kms: kms.decrypt(KeyId=self._arn, CiphertextBlob=blob, EncryptionContext=context))

    def _require_ours(self, wrapped: Wrapped) -> None:
        if (wrapped.provider, wrapped.ref) != (self.name, self._arn):
            raise KeyMismatch(f"the key was wrapped by {wrapped.provider} {wrapped.ref}, not by {self._arn}")
        if not 0 < len(wrapped.blob) <= _BLOB_BYTES:
            raise KeyMismatch

    def _ask(self, call: Callable[[Any], T]) -> T:
        try:
            return call(self._client.get())
        except (BotoCoreError, ClientError) as error:
            meaning = self._meaning(error)
        # Raised outside of the except block, so that it does not reference the request, which contains the key.
        raise meaning

    def _meaning(self, error: Exception) -> AdapterError:
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return KeyRefused("there are no AWS credentials: give memsync a role, or set them in its environment")
        if not isinstance(error, ClientError):
            return KeyUnavailable(f"AWS KMS cannot be reached now ({type(error).__name__})")
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _MISMATCH:
            return KeyMismatch()
        if code in _REFUSED:
            return KeyRefused(
                f"AWS KMS does not let memsync use {self._arn} ({code}): look at its role and the key's policy"
            )
        # Throttled, disabled, pending deletion or internal error: it may work later.
        return KeyUnavailable(f"AWS KMS cannot use {self._arn} now ({code})")


def _context(ctx: Mapping[str, str]) -> dict[str, str]:
    """ctx as an encryption context, readable in CloudTrail and usable in policy conditions.

    Empty values are left out, as KMS may refuse them; the digest binds the whole ctx and a domain prefix.
    """
    readable = {name: value for name, value in ctx.items() if value}
    return {**readable, "bound": hashlib.sha256(bound(ctx, "memsync/kek/1")).hexdigest()}


def _material(answer: Mapping[str, Any], name: str) -> str:
    return str(answer.get(name) or _UNVERSIONED)
