"""Changes of types with fields: values found in texts, kept where they fit, and given back."""

from dataclasses import replace
from typing import Any

import pytest

from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.memories.editing import Edit, edit
from apps.memories.models import MemoryTransition
from apps.memories.revisions import get_history
from apps.memories.selectors import get_memory
from apps.memories.type_fields import BadTypeFields, TypeField
from apps.memory_types import change_worker
from apps.memory_types.models import RowState
from apps.memory_types.type_changes import (
    Definition,
    ask_to_undo,
    commit,
    plan_addition,
    plan_split,
    plan_sunset,
)
from apps.projects.scope import Scope
from tests import once
from tests.makers import NOW, make_scope
from tests.memory_types.test_types import (
    LATER,
    MEDICATION,
    MEDICINES,
    OTHERS,
    add_medication,
    finish,
    remember,
    row,
    rows,
    states,
    wording,
)

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex


@pytest.fixture
def alice(acme: OpenedTenant) -> Scope:
    return make_scope(acme)


DOSE = TypeField(name="dosage", kind="text")
ROUTE = TypeField(name="route", kind="choice", values=("oral", "nasal"))
TAKEN = {"dosage": "20 mg", "route": "oral"}
FOUND = (
    TypeField(name="dosage", kind="text", required=True, units=("mg",)),
    TypeField(name="medication_name", kind="text", hints=("of",)),
    TypeField(name="frequency", kind="text", hints=("every",)),
)


def with_values(scope: Scope, *fields: TypeField) -> int:
    """A medication with the values TAKEN."""
    (memory_id,) = remember(scope, MEDICINES[0])
    finish(add_medication(scope, Definition(slot="none", fields=fields)))
    given = {one.name: TAKEN[one.name] for one in fields}
    edit(scope, Edit(memory_id=memory_id, fields=given, tags=("mine",), metadata={"a": 1}), now=LATER)
    return memory_id


def values(scope: Scope, memory_id: int) -> tuple[Any, Any, Any]:
    memory = get_memory(scope, memory_id, now=LATER)
    return memory.fields, memory.tags, memory.metadata


def test_another_type_keeps_the_values_that_fit_and_undoing_gives_back_the_rest(alice: Scope) -> None:
    memory_id = with_values(alice, DOSE, ROUTE)
    definition = Definition(slot="none", fields=(DOSE, replace(ROUTE, values=("nasal",))))
    planned = plan_split(alice, "pill", definition, (wording("lisinopril"),), sources=("medication",))

    change = finish(commit(alice, planned, now=NOW))

    assert values(alice, memory_id) == ({"dosage": "20 mg"}, ["mine"], {"a": 1})
    revision = get_history(alice, memory_id, limit=10, offset=3, now=LATER).revisions[0]
    assert revision.diff["fields"] == {"old": TAKEN, "new": {"dosage": "20 mg"}}

    finish(ask_to_undo(alice, change.pk, now=LATER))

    assert values(alice, memory_id) == (TAKEN, ["mine"], {"a": 1})


def test_a_type_without_fields_takes_none_over_until_it_is_undone(alice: Scope) -> None:
    memory_id = with_values(alice, DOSE, ROUTE)

    change = finish(commit(alice, plan_sunset(alice, "medication", "fact"), now=NOW))

    assert row(alice, memory_id).fields_ct is None

    finish(ask_to_undo(alice, change.pk, now=LATER))

    assert values(alice, memory_id) == (TAKEN, ["mine"], {"a": 1})


def test_former_values_that_do_not_open_leave_the_memory_as_it_is(alice: Scope) -> None:
    memory_id = with_values(alice, DOSE, ROUTE)
    change = finish(commit(alice, plan_sunset(alice, "medication", "fact"), now=NOW))
    with tenant_transaction(alice):
        MemoryTransition.objects.within(alice).filter(memory_id=memory_id).update(diff_ct=b"\x00" * 80)

    finish(ask_to_undo(alice, change.pk, now=LATER))

    assert states(alice, change) == {memory_id: RowState.KEPT}
    assert row(alice, memory_id).type == "fact"


def test_an_existing_type_keeps_its_fields(alice: Scope) -> None:
    finish(add_medication(alice, Definition(slot="none", fields=(DOSE,))))

    with pytest.raises(BadTypeFields):
        plan_split(alice, "medication", Definition(fields=(ROUTE,)), MEDICATION, sources=("fact",))
    with pytest.raises(BadTypeFields, match="dosage: its kind"):
        plan_addition(alice, "pill", Definition(fields=(replace(DOSE, kind="json"),)), MEDICATION)


def test_a_backfill_fills_the_fields_and_leaves_other_memories_as_they_are(alice: Scope) -> None:
    (first, second), others = remember(alice, *MEDICINES), remember(alice, *OTHERS)
    before = rows(alice)

    change = finish(add_medication(alice, Definition(slot="none", fields=FOUND)))

    filled = {"dosage": "20 mg", "medication_name": "lisinopril", "frequency": "morning"}
    assert get_memory(alice, first, now=LATER).fields == filled
    assert get_memory(alice, second, now=LATER).fields == {}  # 2 tablets: without a dosage, which is required
    assert all(
        vars(row(alice, one))[name] == vars(before[one])[name] for one in others for name in ("type", "revision")
    )
    revision = get_history(alice, first, limit=10, offset=1, now=LATER).revisions[0]
    assert revision.diff["fields"] == {"old": {}, "new": filled}

    finish(ask_to_undo(alice, change.pk, now=LATER))

    assert get_memory(alice, first, now=LATER).fields == {}


def test_what_is_written_later_is_filled_at_once(alice: Scope) -> None:
    finish(add_medication(alice, Definition(slot="none", fields=FOUND)))

    (memory_id,) = remember(alice, MEDICINES[0])

    assert get_memory(alice, memory_id, now=LATER).fields["medication_name"] == "lisinopril"


def test_a_dry_run_counts_the_values_of_each_field_and_writes_nothing(alice: Scope) -> None:
    remember(alice, *MEDICINES, "I take 5 mg of melatonin at night.", *OTHERS)
    before = rows(alice)
    planned = plan_addition(alice, "medication", Definition(slot="none", fields=FOUND), MEDICATION)

    shown = change_worker.preview(alice, planned, most=10, now=LATER)

    assert shown.changed == 3
    assert shown.fields == {"dosage": 2, "medication_name": 2, "frequency": 1}
    assert "lisinopril" not in repr(shown)
    assert {pk: one.revision for pk, one in rows(alice).items()} == {pk: one.revision for pk, one in before.items()}


def test_values_that_a_memory_has_precede_those_in_its_text(alice: Scope) -> None:
    memory_id = with_values(alice, DOSE)
    edit(alice, Edit(memory_id=memory_id, fields={"dosage": "40 mg"}), now=LATER)
    planned = plan_split(
        alice, "pill", Definition(slot="none", fields=FOUND), (wording("lisinopril"),), sources=("medication",)
    )

    finish(commit(alice, planned, now=NOW))

    assert get_memory(alice, memory_id, now=LATER).fields["dosage"] == "40 mg"
