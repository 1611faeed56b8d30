"""Values of a type's fields, found in texts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.memories.field_values import find_values
from apps.memories.type_fields import TypeField, check_fields, check_values
from text.budget import reading

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MEDICATION = (
    TypeField(name="medication_name", kind="text", hints=("take", "taking", "of", "on")),
    TypeField(name="dosage", kind="text", units=("mg", "ml", "tablet*")),
    TypeField(name="frequency", kind="text", hints=("every", "once", "twice")),
    TypeField(name="days", kind="number", hints=("for",)),
    TypeField(name="prescribed_by", kind="text", hints=("prescribed by",)),
    TypeField(name="route", kind="choice", values=("oral", "nasal", "by mouth")),
    TypeField(name="started_at", kind="date", hints=("since", "started on")),
    TypeField(name="ended_at", kind="date", hints=("until",)),
    TypeField(name="active", kind="boolean", hints=("active",)),
)


def found(text: str, *fields: TypeField) -> dict[str, Any]:
    return find_values(fields or MEDICATION, text, now=NOW)


def number(**given: Any) -> TypeField:
    return TypeField(name="n", kind="number", **given)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "I take 20 mg of lisinopril every morning.",
            {"medication_name": "lisinopril", "dosage": "20 mg", "frequency": "morning"},
        ),
        (
            "I'm taking Lisinopril 20mg twice a day, prescribed by Dr. Ivy Wu since March 3, 2026 until 10 December.",
            {
                "medication_name": "Lisinopril", "dosage": "20mg", "frequency": "a day", "prescribed_by": "Dr. Ivy Wu",
                "started_at": "2026-03-03", "ended_at": "2026-12-10",
            },
        ),
        (
            "Since yesterday I take 2,5  ml of İbux by  mouth for 10 days; it is active.",
            {
                "medication_name": "İbux", "dosage": "2,5 ml", "days": 10, "route": "by mouth",
                "started_at": "2026-11-20",
            },
        ),
        ("The spare key lies under the blue flower pot.", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_what_the_words_of_a_field_introduce_is_its_value(text: str, values: dict[str, Any]) -> None:
    check_fields(MEDICATION)

    assert found(text) == values
    assert check_values(MEDICATION, values) == values


@pytest.mark.parametrize(
    "text",
    [
        "I take it since March.",  # a month is no day
        "I take 20 mg and then 5 mg.",
        "I take it oral or nasal.",
        "I take it morally.",
        "It costs 20 magnets.",
        "It is prescribed by: " + "x" * 3,
        "Active: true.",
    ],
)
def test_what_is_not_certain_is_not_a_value(text: str) -> None:
    values = found(text)

    assert values.keys() <= {"medication_name"}


def test_hints_decide_between_several() -> None:
    low, high = number(hints=("at least",), units=("kg",)), number(hints=("at most",), units=("kg",))
    text = "It weighs at least 1,000 kg and at most 2.5 kg."

    assert (found(text, low), found(text, high)) == ({"n": 1000}, {"n": 2.5})
    assert found(text, number(units=("kg",))) == {}
    assert found("It weighs 3 kg, yes 3 kg.", number(units=("kg",))) == {"n": 3}
    assert found("It weighs 3.", number()) == {}
    route = TypeField(name="route", kind="choice", values=("oral", "nasal"), hints=("rather",))
    assert found("Not nasal, rather oral.", route) == {"route": "oral"}


@pytest.mark.parametrize(
    "piece",
    ["take ", "20 mg of ", "every morning ", "since 3 march ", "x, ", '"', "é 20 mg of ", "prescribed by by ", "20 "],
)
def test_time_grows_with_the_text_and_no_further_than_its_first_part(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    with reading(1_500) as budget:
        found(text)

        assert budget.left > 0
