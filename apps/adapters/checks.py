"""System checks of the key provider and of the models.  Ids: memsync.E010 to E019."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import Error, register
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.instances import (
    LocalKekNotAllowed,
    get_classifier,
    get_embedder,
    get_extractor,
    get_kms,
    get_reranker,
)


@register()
def check_kms(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    try:
        provider = get_kms()
    except LocalKekNotAllowed:
        return [
            Error(
                "The key that wraps every other lies in a file on this server.",
                hint="Name a key service in KMS_BACKEND (docs/key-providers.md), or set ALLOW_LOCAL_KEK=1.",
                id="memsync.E010",
            )
        ]
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct KMS_BACKEND and KMS_OPTIONS.", id="memsync.E012")]
    if provider.name == "fake" and not settings.DEBUG:
        return [
            Error(
                "The key provider is the one for tests: anyone who reads its source can unwrap every key.",
                hint="Name a key service in KMS_BACKEND (docs/key-providers.md).",
                id="memsync.E011",
            )
        ]
    return []


@register()
def check_embedder(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    try:
        get_embedder()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct EMBEDDER_BACKEND and EMBEDDER_OPTIONS.", id="memsync.E015")]
    return []


@register()
def check_classifier(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    try:
        get_classifier()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct CLASSIFIER_BACKEND and CLASSIFIER_OPTIONS.", id="memsync.E016")]
    return []


@register()
def check_extractor(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    try:
        get_extractor()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct EXTRACTOR_URL and the settings beside it.", id="memsync.E013")]
    return []


@register()
def check_reranker(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    try:
        get_reranker()
    except ImproperlyConfigured as error:
        return [
            Error(str(error), hint="Correct RERANKER_URL, RERANKER_BACKEND or RERANKER_OPTIONS.", id="memsync.E014")
        ]
    return []
