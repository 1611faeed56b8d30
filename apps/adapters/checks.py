"""What must hold of the key provider before anything is encrypted under it.  Ids: memsync.E010 to E019."""

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.core.checks import Error, register
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.registry import get_kms, local_kek_is_allowed

FAKE: Final = "apps.adapters.kms.fake.FakeKms"


@register()
def check_kms(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    if not local_kek_is_allowed():
        return [
            Error(
                "The key that wraps every other lies in a file on this server.",
                hint="Name a key service in KMS_BACKEND (docs/key-providers.md), or set ALLOW_LOCAL_KEK=1.",
                id="memsync.E010",
            )
        ]
    if settings.KMS.get("BACKEND") == FAKE and not settings.DEBUG:
        return [
            Error(
                "The key provider is the one for tests: whoever reads its source can open every key.",
                hint="Name a key service in KMS_BACKEND (docs/key-providers.md).",
                id="memsync.E011",
            )
        ]
    try:
        get_kms()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct KMS_BACKEND and KMS_OPTIONS.", id="memsync.E012")]
    return []
