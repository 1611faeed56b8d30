"""Fields of a tenant's own types: which definitions and which values are valid."""

from typing import Any

import pytest

from apps.memories.type_fields import BadFieldValues, BadTypeFields, TypeField, check_fields, check_values, fitting

DOSE = TypeField(name="dosage", kind="text", required=True, units=("mg",))
COUNT = TypeField(name="count", kind="number")
ACTIVE = TypeField(name="active", kind="boolean")
SINCE = TypeField(name="started_at", kind="date", hints=("since",))
ROUTE = TypeField(name="route", kind="choice", values=("oral", "nasal"))
ALL = (DOSE, COUNT, ACTIVE, SINCE, ROUTE)


def field(**given: Any) -> TypeField:
    return TypeField(**{"name": "dosage", "kind": "text"} | given)


def test_a_definition_is_the_same_after_it_was_stored() -> None:
    check_fields(ALL)

    assert [TypeField.read(one.describe()) for one in ALL] == list(ALL)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ([field(name=f"field_{number}") for number in range(17)], "at most 16 fields"),
        ([field(), field()], "dosage: is defined twice"),
        ([field(name="Dosage")], "the name of a field is"),
        ([field(name="")], "the name of a field is"),
        ([field(name="x" * 33)], "the name of a field is"),
        ([field(kind="json")], "dosage: its kind is one of"),
        ([field(kind="choice")], "dosage: values belong to a choice"),
        ([field(values=("a",))], "dosage: values belong to a choice"),
        ([field(kind="choice", values=("a", "A"))], "each once"),
        ([field(kind="choice", values=tuple(map(str, range(33))))], "at most 32 values"),
        ([field(kind="date", units=("mg",))], "units belong to a text or a number"),
        ([field(hints=("by",) * 33)], "at most 32 hints"),
        ([field(hints=("x" * 65,))], "at most 64 characters"),
        ([field(hints=("...",))], "has a letter or digit"),
        ([field(description="x" * 257)], "at most 256 characters"),
        ([field(required="yes")], "required is true or false"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_with_its_name(fields: list[TypeField], problem: str) -> None:
    with pytest.raises(BadTypeFields, match=problem):
        check_fields(fields)


@pytest.mark.parametrize(
    "raw",
    [
        {"name": "a"},
        {"kind": "text"},
        {"name": "a", "kind": "text", "unit": "mg"},
        field().describe() | {"hints": "by"},
        field().describe() | {"values": [1]},
    ],
)
def test_json_of_another_shape_is_no_field(raw: dict[str, Any]) -> None:
    with pytest.raises(BadTypeFields):
        TypeField.read(raw)


def test_values_are_kept_as_they_are_in_the_order_of_the_fields() -> None:
    given = {"route": "oral", "started_at": "2026-05-05", "active": False, "count": 2.5, "dosage": "20 mg"}

    kept = check_values(ALL, given | {"count": 2.5})

    assert list(kept.items()) == list(reversed(given.items()))
    assert check_values(ALL, {"dosage": "20 mg", "count": None}) == {"dosage": "20 mg"}
    assert check_values(ALL, {}) == {}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"dosage": 20}, ["dosage"]),
        ({"dosage": " "}, ["dosage"]),
        ({"dosage": "x" * 1_001}, ["dosage"]),
        ({"dosage": "20 mg", "count": "2"}, ["count"]),
        ({"dosage": "20 mg", "count": True}, ["count"]),
        ({"dosage": "20 mg", "count": float("nan")}, ["count"]),
        ({"dosage": "20 mg", "count": 10**400}, ["count"]),
        ({"dosage": "20 mg", "active": 1}, ["active"]),
        ({"dosage": "20 mg", "started_at": "2026-02-30"}, ["started_at"]),
        ({"dosage": "20 mg", "started_at": "5 May"}, ["started_at"]),
        ({"dosage": "20 mg", "route": "Oral"}, ["route"]),
        ({"dosage": "20 mg", "route": ["oral"]}, ["route"]),
        ({"dosage": "20 mg", "size": 3}, ["size"]),
        ({"count": 2}, ["dosage"]),
        ({"My secret": 1, "count": "2", "active": 0}, ["(9 characters)", "dosage", "count", "active"]),
    ],
)
def test_every_bad_value_is_named_and_none_is_quoted(values: dict[str, Any], named: list[str]) -> None:
    with pytest.raises(BadFieldValues) as refused:
        check_values(ALL, values)

    assert [one["loc"][-1] for one in refused.value.details] == named
    assert "secret" not in str(refused.value.details) + refused.value.message


def test_what_fits_other_fields_is_kept_and_nothing_where_a_required_one_is_missing() -> None:
    optional = field(name="dosage", units=("mg",))

    assert fitting((optional, ROUTE), {"dosage": "20 mg", "route": "rectal", "size": 3}) == {"dosage": "20 mg"}
    assert fitting(ALL, {"count": 2}) == {}
    assert fitting((), {"count": 2}) == {}
