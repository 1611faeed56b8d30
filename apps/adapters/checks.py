"""System checks of the key provider and of the models.  Ids: memsync.E010 to E019."""

from collections.abc import Callable, Sequence
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
    return _problems(get_embedder, hint="Correct EMBEDDER_BACKEND and EMBEDDER_OPTIONS.", id_="memsync.E015")


@register()
def check_classifier(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    return _problems(get_classifier, hint="Correct CLASSIFIER_BACKEND and CLASSIFIER_OPTIONS.", id_="memsync.E016")


@register()
def check_extractor(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    return _problems(get_extractor, hint="Correct EXTRACTOR_URL and the settings beside it.", id_="memsync.E013")


@register()
def check_reranker(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[Error]:
    hint = "Correct RERANKER_URL, RERANKER_BACKEND or RERANKER_OPTIONS."
    return _problems(get_reranker, hint=hint, id_="memsync.E014")


def _problems(get: Callable[[], object], *, hint: str, id_: str) -> list[Error]:
    """What is wrong with the settings of a model."""
    try:
        get()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint=hint, id=id_)]
    return []
