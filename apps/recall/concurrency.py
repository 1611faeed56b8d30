"""Limits how many recalls of one process compute at once.

A recall mostly computes, and the threads of a process share one interpreter lock: run together they take turns every
few milliseconds, and all of them finish late.  One after the other most finish sooner, and more are done in a second.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from apps.adapters.instances import get_embedder, get_reranker
from apps.adapters.per_process import PerProcess


def _slots() -> threading.BoundedSemaphore | None:
    return threading.BoundedSemaphore(settings.RECALL_CONCURRENCY) if settings.RECALL_CONCURRENCY else None


_free = PerProcess(_slots)


@contextmanager
def computing(*, reranks: bool = False) -> Iterator[None]:
    """Wait until fewer than RECALL_CONCURRENCY recalls compute, 0 for any number.

    reranks: they may be reread.  Recalls that wait for other machines, for a remote embedder or a remote cross-encoder,
    do not count.
    """
    reranker = get_reranker() if reranks else None
    slots = _free.get() if get_embedder().is_local and (reranker is None or reranker.is_local) else None
    if slots is None:
        yield
        return
    with slots:
        yield
