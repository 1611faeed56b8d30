"""Encryption of deployment-wide values that belong to no tenant: the secrets of users' second factors."""

import base64
import uuid
from typing import Final

from django.conf import settings

from apps.core.plaintext import Plaintext
from apps.crypto import aead
from apps.crypto.envelope import KEY_BYTES, Box, DecryptError, key_version_of
from apps.crypto.key_cache import UnwrappedKey, service_key
from apps.crypto.models import ServiceName

_NOBODY: Final = uuid.UUID(int=0)  # placeholder for the tenant and the space in the envelope context


def seal_for_deployment(field: str, text: Plaintext) -> str:
    """Encrypt ``text`` and return Base64, which decrypts only as this ``field``.  Raises KeysUnavailable."""
    box = _box(service_key(ServiceName.FACTORS))
    return base64.b64encode(box.seal(field, 0, text.reveal().encode())).decode("ascii")


def open_for_deployment(field: str, sealed: str) -> Plaintext:
    """Decrypt a value of ``seal_for_deployment`` for this field.  Raises DecryptError, KeysMissing, KeysUnavailable."""
    try:
        blob = base64.b64decode(sealed, validate=True)
    except ValueError:
        raise DecryptError("encoding") from None
    key = service_key(ServiceName.FACTORS, key_version_of(blob))
    return Plaintext(_box(key).open(field, 0, blob).decode())


def _box(key: UnwrappedKey) -> Box:
    deployment: str = settings.DEPLOYMENT_ID
    prk = aead.extract(b"mem/1|service|factors", key.key)
    return Box(
        aead.expand(prk, f"mem/1|{deployment}".encode(), KEY_BYTES),
        key_version=key.version,
        deployment=deployment,
        tenant=_NOBODY,
        environment="",
        space=_NOBODY,
    )
