"""Facts that change, told in a hundred ways, through the whole pipeline: the latest is true, each former one was.

``SCRIPTS=1000 scripts/test tests/ingest/test_changes_of_fact.py`` runs as many; a few with every change.
"""

import os
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.ingest import services
from apps.ingest.candidates import Proposal
from apps.projects.scope import Scope
from apps.recall.results import Filters
from apps.recall.services import recall
from tests.ingest.changes import ATTRIBUTES, Change, script
from tests.makers import NOW, make_scope

pytestmark = pytest.mark.django_db(databases="__all__")

SCRIPTS = int(os.environ.get("SCRIPTS", "28"))
LATEST_AT_LEAST = 0.99
ENDS = ("left", "quit", "no longer", "not")  # words by which the scripts say that something is over


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def recalled(scope: Scope, query: str, *, as_of: float | None = None) -> list[str]:
    filters = Filters(as_of=None if as_of is None else day(as_of))
    found = recall(scope, Plaintext(query), filters=filters, limit=50, now=day(1000))
    return [hit.memory.text.reveal() for hit in found.hits]


def stale(texts: list[str], said: list[Change]) -> list[str]:
    """Texts that state an older value as if it still were so.

    What tells of its end may stay ("I left Ikea"), and what tells of the change to the latest.
    """
    latest = said[-1].value or ""
    older = {one.value for one in said if one.value} - {latest}
    return [
        text
        for text in texts
        if any(value in text for value in older) and latest not in text and not any(end in text for end in ENDS)
    ]


def test_the_latest_is_true_and_every_former_value_was_in_its_time(
    acme: OpenedTenant, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, lost, asked = [], [], 0
    for seed in range(SCRIPTS):
        about, told = script(seed)
        scope = make_scope(acme, f"script {seed}")

        for one in told:
            services.remember(scope, [Proposal(text=Plaintext(one.text), source="chat")], now=day(one.day))

        said = [one for one in told if one.value]
        now = recalled(scope, said[-1].text)
        if stale(now, said) or not any(said[-1].value in text for text in now if said[-1].value):
            wrong.append((seed, [one.text for one in said], now))
        for former, after in pairwise(said):
            asked += 1
            at = (former.day + after.day) / 2
            if not any(former.value in text for text in recalled(scope, former.text, as_of=at) if former.value):
                lost.append((seed, about.name, former.text))
    with capsys.disabled():
        right, found = SCRIPTS - len(wrong), asked - len(lost)
        print(f"\nlatest right in {right} of {SCRIPTS} scripts; {found} of {asked} former values found")  # noqa: T201
    assert asked >= 2 * SCRIPTS
    assert len(wrong) <= (1 - LATEST_AT_LEAST) * SCRIPTS, (len(wrong), wrong[:5])
    assert lost == []


def test_a_script_is_the_same_each_time_and_covers_every_attribute() -> None:
    assert script(11) == script(11)
    assert {script(seed)[0].name for seed in range(len(ATTRIBUTES))} == {one.name for one in ATTRIBUTES}
    assert all(2 <= sum(one.value is not None for one in script(seed)[1]) <= 5 for seed in range(200))
