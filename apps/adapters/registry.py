"""The adapters that settings name, each made once per process."""

import threading
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

from apps.adapters.embedders.base import Embedder
from apps.adapters.kms.base import KekProvider

_instances: dict[str, Any] = {}
_lock = threading.Lock()


def get_embedder() -> Embedder:
    """The embedder named by ``settings.EMBEDDER``; constructing it loads nothing, the first text does."""
    return cast("Embedder", _instance("EMBEDDER"))


def get_kms() -> KekProvider:
    """The key provider named by ``settings.KMS``; constructing it reads no key."""
    return cast("KekProvider", _instance("KMS"))


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
    except (AttributeError, KeyError, TypeError, ImportError) as error:
        raise ImproperlyConfigured(
            f'{setting} must be {{"BACKEND": "dotted.path.Class", "OPTIONS": {{...}}}} and the class importable.'
        ) from error
    return backend(**config.get("OPTIONS", {}))


@receiver(setting_changed)
def _forget_instance(*, setting: str, **_: object) -> None:
    with _lock:
        _instances.pop(setting, None)
