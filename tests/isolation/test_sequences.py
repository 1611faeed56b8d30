"""Whatever three tenants do, in whatever order: none reads, counts or changes what is another's.

ISOLATION_SEQUENCES=2000 pytest tests/isolation/test_sequences.py -s      the large version; prints what it did
"""

import logging
import os
import re
import time
import traceback
from collections.abc import Iterator

import pytest
from django.urls import get_resolver
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from apps.api import errors
from apps.api.mem0.unbuilt import UnbuiltView
from apps.api.urls import urlpatterns
from apps.api.views import ApiView
from apps.core.errors import DomainError
from apps.crypto.services import DecryptError
from apps.memories.models import MemoryQuerySet
from tests.api.people import OF_PEOPLE
from tests.isolation.machine import COVERED, FAILURES, IsolationMachine, Tally, routes
from tests.isolation.test_any_route import operations

SEQUENCES = int(os.environ.get("ISOLATION_SEQUENCES", "15"))
STEPS = 50

NOBODY_S = ("/api/v1/integrations", "/api/v2/integrations", "/org/billing", "/auth/")  # hold nothing of any tenant's
FILES = {("/memory/upload", "POST"), ("/imports", "POST")}  # no ids to guess; whose they are: tests/api/test_access.py


@pytest.fixture(autouse=True)
def _machine_s_own_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ApiView, "now", ApiView.now)  # put back afterwards: the machine has a clock of its own
    usual = errors.translate

    def translate(error: Exception) -> DomainError:
        meant = usual(error)
        if errors.status_of(meant) >= 500:
            FAILURES.append("".join(traceback.format_exception(error)))
        return meant

    monkeypatch.setattr(errors, "translate", translate)
    IsolationMachine.cast, IsolationMachine.tally = None, Tally()
    logging.disable()  # of a hundred thousand requests
    yield
    logging.disable(logging.NOTSET)
    IsolationMachine.cast = None


def run(sequences: int, *, shrinks: bool = True) -> Tally:
    # CI tries the same sequences every time; the large run tries others each time, and says how to repeat a failure.
    is_large = sequences > 100
    run_state_machine_as_test(
        IsolationMachine,
        settings=settings(
            max_examples=sequences,
            stateful_step_count=STEPS,
            derandomize=not is_large,
            database=None,
            deadline=None,
            print_blob=True,
            phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
        _min_steps=STEPS,  # not one fewer
    )
    return IsolationMachine.tally


def test_every_route_has_a_rule() -> None:
    """What the model does not follow is called with everybody's ids, as the API describes it, by test_any_route."""
    routed = {(described(path), method) for path, method in routes(get_resolver().url_patterns)}
    followed = {(described(path), method) for path, method in COVERED}
    called = {(one.path, one.method) for one in operations()}
    elsewhere = {(path, method) for path, method in routed if path.startswith(NOBODY_S)} | FILES
    # Routes that no key opens: strangers to the tenant call each of them in tests/api/test_roles.py.
    elsewhere |= {(described(row.route), row.method) for row in OF_PEOPLE}

    # Its tools call the other routes: tests/mcp.
    elsewhere |= {(path, method) for path, method in routed if path.endswith("/mcp") or "/mcp/" in path}
    # Metadata of the server, and routes that are not built: these say the same to all.
    elsewhere |= {(path, method) for path, method in routed if path.startswith("/.well-known/")}
    unbuilt = [pattern for pattern in urlpatterns if issubclass(pattern.callback.cls, UnbuiltView)]
    elsewhere |= {(described(path), method) for path, method in routes(unbuilt)}
    # Ids in a list: tests/mem0.
    elsewhere |= {("/v1/batch/", method) for method in ("PUT", "DELETE")}
    # Of other tenants' webhooks: tests/webhooks.
    elsewhere |= {(path, method) for path, method in routed if path.startswith("/org/webhooks")}

    assert routed - followed - called - elsewhere == set(), "Routes that nothing calls: see tests/isolation/machine.py"
    assert followed - routed == set(), "Rules for routes that are gone: see tests/isolation/machine.py"


def described(path: str) -> str:
    """A path as in urls.py, as the API's description has it."""
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path)


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_no_sequence_of_requests_crosses_a_wall() -> None:
    started = time.monotonic()

    tally = run(SEQUENCES)

    print(f"\n{tally}, violations=0, seconds={time.monotonic() - started:.0f}")  # noqa: T201  (for the large run)
    assert tally.sequences >= SEQUENCES


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_a_service_that_forgets_whose_space_it_is_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryQuerySet, "within", lambda rows, scope: rows.filter(tenant_id=scope.tenant_id))

    # A group when what it leaves behind makes the sequence fail elsewhere the second time.
    with pytest.raises((AssertionError, DecryptError, ExceptionGroup)):
        run(SEQUENCES, shrinks=False)
