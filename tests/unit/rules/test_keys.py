"""The same fact in other words gives the same key and value; news gives the same key and another value."""

from datetime import UTC, datetime

import pytest

from apps.ingest.rules.finding import Finding
from apps.ingest.rules.reader import read_turn

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)


def claim(text: str) -> tuple[str | None, str | None]:
    finding = first(text)
    return finding.key, finding.value


def first(text: str) -> Finding:
    return next(f for f in read_turn(text, now=NOW, min_chars=4) if f.decision == "keep")


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("I live in Ostend", "we moved to Ostend last spring"),
        ("I live in Ostend", "Ostend is where I live"),
        ("I work at Ericsson", "I'm employed by Ericsson"),
        ("I'm vegan", "I went vegan in December"),
        ("I'm allergic to walnuts", "walnut allergy here, sadly"),
        ("I take 5 mg ramipril", "ramipril 5mg daily for me"),
        ("I report to Ingrid", "Ingrid is my manager"),
        ("Omar manages the print shop", "The print shop is managed by Omar"),
        ("I like dark mode best", "dark theme in all apps please"),
        ("tabs over spaces, please", "I prefer tabs for indentation"),
        ("always answer in Danish", "please reply in Danish from now on"),
        ("keep your answers short", "short replies please, always"),
        ("my birthday is 9 June", "I was born on June 9th"),
        ("I hate raisins", "I'm really no fan of raisins"),
        ("the search API allows 80 requests per minute, hard limit", "limit of the search API: 80 req/min"),
        ("my cat is called Fig", "our cat's name is Fig"),
        ("Elif is six years old", "Elif is 6"),
    ],
)
def test_the_same_fact_in_other_words(said: str, again: str) -> None:
    assert claim(said) == claim(again)
    assert claim(said)[0] is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Ostend", "we relocated from Ostend to Mechelen"),
        ("I work at Ericsson", "I joined Nokia in January"),
        ("my wife works at Philips", "my wife started at Siemens"),
        ("I'm vegetarian", "I eat meat again"),
        ("I take 5 mg ramipril", "ramipril is now 10 mg"),
        ("I report to Ingrid", "Samir became my manager"),
        ("I like dark mode best", "light mode is what I use now"),
        ("I use spaces for indentation", "tabs for indentation now"),
        ("always answer in Danish", "from now on answer in English"),
        ("I hate raisins", "I love raisins now"),
        ("I bank with Monzo", "moved everything to Revolut, my new bank"),
        ("I drive a Volvo", "sold the Volvo, we have a Kia now"),
        ("the trip budget is 900 euros", "we raised the trip budget to 1100 euros"),
        ("our standup is at 9:30", "standup moved to 10:00"),
        ("my dentist is Dr. Fox", "I changed dentists, I'm with Dr. Hale now"),
        ("we're on Python 3.11", "upgraded to Python 3.13"),
        ("the ledger runs on MySQL", "the ledger was migrated to Postgres"),
        ("I'm on the Basic plan", "upgraded to the Pro plan"),
        ("my email is kit@old.example", "new email: kit@new.example"),
        ("my shoe size is 41", "my shoe size is 42"),
        ("no meetings on Mondays", "the ban on Monday meetings is lifted"),
    ],
)
def test_news_about_the_same_thing(old: str, new: str) -> None:
    (old_key, old_value), (new_key, new_value) = claim(old), claim(new)

    assert old_key == new_key is not None
    assert old_value != new_value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Ostend", "my brother lives in Namur"),
        ("I'm allergic to walnuts", "I'm allergic to wasps"),
        ("I manage Omar", "I manage Lena"),
        ("I hate raisins", "I hate olives"),
        ("the ledger runs on MySQL", "the archive runs on Postgres"),
        ("the kitchen budget is 15k", "the garden budget is 3k"),
        ("my son is allergic to eggs", "my daughter is allergic to eggs"),
        ("don't use emojis", "don't use bullet points"),
        ("Ada's birthday is 1 May", "Leo's birthday is 1 May"),
    ],
)
def test_different_things_do_not_share_a_slot(one: str, other: str) -> None:
    assert claim(one)[0] != claim(other)[0]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("my name is Bram", "user.name"),
        ("call me Bea from now on", "user.preferred_name"),
        ("I'm a typesetter and designer", "user.role"),
        ("I report to Ingrid", "user.reports_to"),
        ("I manage Omar", "user.manages.omar"),
        ("I work with Mirela", "user.works_with.mirela"),
        ("my sister is vegan", "user.sister.diet"),
        ("I'm allergic to walnuts", "user.allergy.walnut"),
        ("I take metformin", "user.medication.metformin"),
        ("dark mode please", "ui.theme"),
        ("tabs for indentation please", "editor.indentation"),
        ("the trip budget is 900 euros", "trip.budget"),
        ("always answer in Danish", "assistant.language"),
    ],
)
def test_keys_have_their_published_names(text: str, key: str) -> None:
    assert first(text).key == key


@pytest.mark.parametrize("text", ["we decided to sell the barge", "remind me to ring Omar", "I broke a tooth in 2019"])
def test_types_without_a_slot_have_no_key(text: str) -> None:
    assert first(text).key is None


@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ("I left Ericsson in May", ("user.employer", "ericsson")),
        ("closed my account at Monzo", ("user.bank", "monzo")),
        ("the team voted for tabs as indentation", ("editor.indentation", None)),
    ],
)
def test_a_statement_that_ends_a_claim_names_it(text: str, closes: tuple[str, str | None]) -> None:
    assert first(text).closes == closes


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("my gym is FitHub", "user.gym"),
        ("our wifi name is Birdhouse", "wifi.name"),
        ("the standup is at 9:30", "standup.schedule"),
        ("Olga's car is a Saab", "olga.car"),
        ("my shoe size is 41", "shoe.size"),
        ("my favourite tea is sencha", "user.favourite_tea"),
        ("the deadline of the tender is 14 June", "tender.deadline"),
        ("our backup retention is 30 days", "backup.retention"),
        ("the lease expires in May 2027", "lease.expiry"),
        ("our meeting room is on the third floor", "meeting.room"),
    ],
)
def test_a_thing_of_somebody_and_a_known_attribute_have_a_slot(text: str, key: str) -> None:
    assert first(text).key == key


@pytest.mark.parametrize(
    "text",
    [
        "life is a river, my grandmother used to say",
        "swimming is my escape",
        "losing a friend is hard on me",
        "a lot of this is new to me",
        "step_2 = sort the rows by my column",
        "those curtains are from my aunt",
        "glad you are on our side",
        "everyone is in our garden",
        "my goal is to learn the cello",
        "our house was worth it, time is money",
        "what I need is peace",
        "Olga is from Delft, like me",
        "my brother is from another planet",
        "honesty is part of our house rules",
        "my advice: start small and keep going",
        "our garden is so green",
        "my knees are crucial for climbing",
        "my car has a dent",
        "it takes courage to tell my boss",
        "once we have the loan we buy the boat",
        "I'm trying to find out why my report in Django 4.2 shows the rows of the other branch",
        "it felt like a dream to me",
        "my kids taught me about love and patience",
    ],
)
def test_a_general_statement_takes_no_slot(text: str) -> None:
    assert {f.key for f in read_turn(text, now=NOW) if f.decision == "keep"} <= {None}


def test_two_statements_in_the_same_words_do_not_replace_each_other() -> None:
    assert [first(text).key for text in ("my boat has two sails", "my boat has a name")] == [None, None]


def test_a_day_off_of_the_user_is_no_ban_of_releases() -> None:
    assert claim("I can't work on Sundays") == ("user.work_ban.sunday", "banned")
    assert claim("I must not work on Saturdays")[0] != claim("I can't work on Sundays")[0]
    assert claim("nobody may release on Sundays, prod is frozen then")[0] == "deploy.ban"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Odense was charming, but I live in Aarhus again", "user.location", "aarhus"),
        ("our house is green and I live in Odense", "user.location", "odense"),
        ("my favourite tea is rooibos these days", "user.favourite_tea", "rooibos"),
        ("my favourite tea is rooibos nowadays", "user.favourite_tea", "rooibos"),
        ("No wait, my favourite tea is rooibos", "user.favourite_tea", "rooibos"),
        ("wait, no: my favourite colour is red", "favourite.colour", "red"),
        ("my age is 41", "user.age", "41"),
    ],
)
def test_the_claim_is_read_without_what_stands_around_it(text: str, key: str, value: str) -> None:
    kept = [f for f in read_turn(text, now=NOW) if f.decision == "keep" and f.key]

    assert (key, value) in {(f.key, f.value) for f in kept}
    assert len({f.key for f in kept}) == 1


def test_the_breed_of_a_pet_is_told_by_its_name() -> None:
    assert claim("my dog Pepper is a beagle") == ("user.dog.pepper.breed", "beagl")
    assert claim("sorry, my dog Pepper is a harrier, not a beagle") == ("user.dog.pepper.breed", "harrier")
    assert claim("my dog Olive is a pug")[0] == "user.dog.olive.breed"
    assert claim("my dog Pepper is from a farm")[0] is None
