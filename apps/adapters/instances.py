"""The adapters named in settings, each created once per process."""

import threading
from contextlib import suppress
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

from apps.adapters.classifiers.base import Classifier
from apps.adapters.embedders.base import Embedder
from apps.adapters.errors import AdapterError
from apps.adapters.extractors.base import Extractor
from apps.adapters.kms.base import KekProvider
from apps.adapters.rerankers.base import Reranker
from apps.adapters.senders.base import Fetcher, Sender


class LocalKekNotAllowed(ImproperlyConfigured):
    """The key would be stored in a file, and no setting allows that."""


_instances: dict[str, Any] = {}
_lock = threading.Lock()


def get_embedder() -> Embedder:
    """The embedder named by ``settings.EMBEDDER``; its model is loaded on the first text."""
    return cast("Embedder", _instance("EMBEDDER"))


def get_extractor() -> Extractor | None:
    """The language model named by ``settings.EXTRACTOR``; None if rules extract alone.

    Constructing it makes no network call.  Raises ImproperlyConfigured.
    """
    return cast("Extractor", _instance("EXTRACTOR")) if settings.EXTRACTOR else None


def get_classifier() -> Classifier | None:
    """The classifier named by ``settings.CLASSIFIER``; None if there is none.

    Its models are loaded on the first text.  Raises ImproperlyConfigured.
    """
    return cast("Classifier", _instance("CLASSIFIER")) if settings.CLASSIFIER else None


def make_adapters() -> None:
    """Create every adapter that the settings name.  Raises ImproperlyConfigured, which says what is wrong with one."""
    for get in (get_kms, get_embedder, get_classifier, get_extractor, get_reranker, get_sender, get_fetcher):
        get()


def warm_models() -> None:
    """Build and load the models that run on this machine, so that no request waits for it.

    Failures are ignored here; they are reported when the model is used.
    """
    for model in (get_embedder(), get_classifier()):
        warm = getattr(model, "warm", None)
        if warm:
            with suppress(AdapterError):
                warm()


def get_reranker() -> Reranker | None:
    """The cross-encoder named by ``settings.RERANKER``; None if there is none.

    Constructing it makes no network call.  Raises ImproperlyConfigured.
    """
    return cast("Reranker", _instance("RERANKER")) if settings.RERANKER else None


def get_sender() -> Sender:
    """The webhook sender named by ``settings.WEBHOOK_SENDER``; constructing it makes no network call."""
    return cast("Sender", _instance("WEBHOOK_SENDER"))


def get_fetcher() -> Fetcher:
    """The fetcher of connectors named by ``settings.CONNECTOR_FETCHER``; constructing it makes no network call."""
    return cast("Fetcher", _instance("CONNECTOR_FETCHER"))


def get_kms() -> KekProvider:
    """The key provider named by ``settings.KMS``; constructing it reads no key and makes no network call.

    Raises LocalKekNotAllowed.
    """
    provider = cast("KekProvider", _instance("KMS"))
    if provider.name == "local" and not (settings.ALLOW_LOCAL_KEK or settings.DEBUG):
        raise LocalKekNotAllowed(
            "The key that wraps every other would lie in a file on this server: name a key service in KMS_BACKEND, "
            "or set ALLOW_LOCAL_KEK=1 if the file is meant."
        )
    return provider


def _instance(setting: str) -> Any:
    """The instance of {"BACKEND": dotted path of a class, "OPTIONS": its keyword arguments}."""
    with _lock:
        if setting not in _instances:
            _instances[setting] = _make(setting)
        return _instances[setting]


def _make(setting: str) -> Any:
    try:
        config = getattr(settings, setting)
        backend = import_string(config["BACKEND"])
    except ImportError as error:
        raise ImproperlyConfigured(f"{setting}_BACKEND names no class that can be imported: {error}") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise ImproperlyConfigured(
            f'{setting} must be {{"BACKEND": "dotted.path.Class", "OPTIONS": {{...}}}}.'
        ) from error
    try:
        return backend(**config.get("OPTIONS", {}))
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"{setting}'s OPTIONS are not what {config['BACKEND']} takes: {error}") from error


@receiver(setting_changed)
def _forget_instance(*, setting: str, **_: object) -> None:
    with _lock:
        _instances.pop(setting, None)
