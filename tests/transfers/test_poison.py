"""A record that ends its worker is left out and named; its neighbours and other tenants' jobs are done in a minute."""

import time

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.outbox.models import OutboxEvent
from apps.projects.scope import Scope
from apps.transfers.imports import import_worker
from apps.transfers.imports.services import get_import
from apps.transfers.imports.tasks import work
from apps.transfers.models.imports import ImportStatus
from tests.architecture import canaries
from tests.poison.apps import ENDURES, HANGS, HARD_LIMIT, KILLS
from tests.transfers.test_import_parts import POISONED, begin, chunks, sentences, stored
from tests.workers import worker

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

ATTEMPTS = 3
SECONDS = 60.0 - ATTEMPTS * (import_worker.HARD_LIMIT - HARD_LIMIT)  # a minute by the product's own limit


def ready(scope: Scope) -> None:
    """Wait until there is a worker that imports.  On a busy machine it starts after the first message has expired."""
    job = begin(scope, ["The first parcel went to the harbour office."])
    while get_import(scope, job).job.is_open:
        work.apply_async(expires=2)  # as the schedule does
        time.sleep(0.5)


# -- real workers ------------------------------------------------------------------------------------------------------


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("poison", "reason"), [(KILLS, "worker_lost"), (HANGS, "out_of_time"), (ENDURES, "worker_lost")]
)
def test_a_poison_record_is_named_and_everything_else_is_done_within_a_minute(
    poison: str, reason: str, acme: OpenedTenant, globex: OpenedTenant, pgmq_url: str
) -> None:
    with canaries.broker(pgmq_url), worker(pgmq_url, settings="tests.poison.settings", processes=1):
        ready(globex.scope)
        begun = time.monotonic()
        poisoned = begin(acme.scope, sentences(250, line=POISONED, poison=poison))
        other = begin(globex.scope, sentences(150))
        done = {}
        while len(done) < 2:
            for name, scope, job in (("poisoned", acme.scope, poisoned), ("other", globex.scope, other)):
                seen = get_import(scope, job)
                if not seen.job.is_open:
                    done[name] = seen
            assert time.monotonic() - begun < SECONDS, "took too long"
            work.apply_async(expires=2)  # as the schedule does
            time.sleep(1)

    assert (done["other"].job.status, done["other"].job.created, stored(globex.scope)) == (
        ImportStatus.COMPLETED,
        150,
        151,
    )
    job = done["poisoned"].job
    assert (job.status, job.created, job.rejected, job.processed_records) == (ImportStatus.COMPLETED, 249, 1, 250)
    assert stored(acme.scope) == 249
    (error,) = done["poisoned"].errors
    assert error["line"] == POISONED
    assert error["reason"].startswith(f"{reason}: ")
    assert not OutboxEvent.objects.filter(kind=import_worker.KIND).exists()
    assert chunks(acme.scope) == []
