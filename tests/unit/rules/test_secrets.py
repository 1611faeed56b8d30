"""Credentials, card and government numbers are refused; talk about them is not."""

from datetime import UTC, datetime

import pytest

from apps.ingest.rules import read_turn

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)

# Put together here, so that no scanner takes this file for a leak.
GIVEN = [
    ("here is the key " + "AKIA" + "Q7RZ2MNB4KLP9WXY", "Q7RZ2MNB4KLP9WXY"),
    ("token " + "ghp" + "_" + "a1B2" * 9, "a1B2a1B2"),
    ("use " + "sk-" + "proj-" + "Zx9" * 10 + " for now", "Zx9Zx9Zx9"),
    ("bot: " + "xoxb" + "-2222333344-" + "abcDEF123" * 2, "abcDEF123"),
    ("jwt " + "eyJ" + "hbGciOiJub25lIn0" + "." + "eyJ" + "zdWIiOiJtZSJ9" + "." + "c2ln", "zdWIiOiJtZSJ9"),
    ("-----BEGIN " + "PRIVATE KEY-----\nMIIabc123\nQQQ\n-----END " + "PRIVATE KEY-----", "MIIabc123"),
    ("postgres" + "://app:" + "Wint3r-Sun" + "@db.example/app", "Wint3r-Sun"),
    ("my router password is " + "marzipan88", "marzipan88"),
    ("password: " + "Otter!Lake42", "Otter!Lake42"),
    ("login is rosa / " + "Otter!Lake42", "Otter!Lake42"),
    ("my login: rosa, pass: " + "Otter_Lake42", "Otter_Lake42"),
    ("the pin for the shed is " + "90713", "90713"),
    ("code for the garage door is " + "4408", "4408"),
    ("backup codes: " + "k2l9-m3n8, p4q7-r5s6", "k2l9-m3n8"),
    (
        "seed phrase: apple " + "harbor violin candle meadow tunnel pepper lantern orbit summer window river",
        "violin candle",
    ),
    ("card 4242 4242 " + "4242 4242 exp 04/29", "4242 4242 4242"),
    ("my ssn is " + "536-22-" + "1187", "536-22-1187"),
    ("transfer it to GB82 " + "WEST 1234 5698 7654 32", "1234 5698 7654"),
    ("passport number " + "L8820147", "L8820147"),
]


@pytest.mark.parametrize(("text", "secret"), GIVEN)
def test_a_secret_is_refused(text: str, secret: str) -> None:
    found = read_turn(text, now=NOW)

    assert "discarded_policy" in {f.decision for f in found}
    assert not any(secret in text[f.start : f.end] for f in found if f.decision == "keep")


@pytest.mark.parametrize(("text", "secret"), GIVEN)
def test_an_explicit_wish_does_not_store_a_secret(text: str, secret: str) -> None:
    (finding,) = read_turn(text, now=NOW, keep_whole=True)

    assert finding.decision == "discarded_policy"


@pytest.mark.parametrize(
    "text",
    [
        "I need to change my bank password tomorrow",
        "our password policy asks for sixteen characters",
        "I keep all my passwords in Bitwarden",
        "access tokens expire after twenty minutes",
        "we rotate the signing keys every quarter",
        "the login page is too slow for our customers",
        "my phone number is 0161 496 0000",
        "our order number 1234567890123 was delivered on Friday",
        "I forgot my PIN again last Tuesday",
    ],
)
def test_talk_about_secrets_is_no_secret(text: str) -> None:
    assert "discarded_policy" not in {f.decision for f in read_turn(text, now=NOW)}


def test_a_fact_beside_a_secret_is_kept_without_it() -> None:
    text = "I moved to Perth in February. the gate code is 7719"
    found = read_turn(text, now=NOW)

    assert [(f.decision, f.key) for f in found] == [("keep", "user.location"), ("discarded_policy", None)]


def test_a_clause_beside_a_secret_is_kept_and_marked() -> None:
    text = "I work at the aquarium, and the staff door code is 2580"
    found = read_turn(text, now=NOW)

    assert [f.decision for f in found] == ["keep", "discarded_policy"]
    assert found[0].redacted
    assert text[found[0].start : found[0].end] == "I work at the aquarium"
