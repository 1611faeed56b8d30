"""The same fact in other words gives the same key and value; news gives the same key and another value; and what only
looks like a claim gives none, since a wrong one would bury what is true."""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from text.extraction.extractor import read_turn
from text.extraction.finding import Finding
from text.extraction.slots import order_claim

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)


class Read(NamedTuple):
    key: str
    value: str
    words: str


def kept(text: str) -> list[Finding]:
    return [finding for finding in read_turn(text, now=NOW, min_chars=4) if finding.decision == "keep"]


def claims(text: str) -> list[Read]:
    """Every claim of the text, with the words that make it."""
    found: list[Read] = []
    for one in kept(text):
        if one.key is not None:
            found.append(Read(one.key, one.value or "", text[one.start : one.end]))
        found += [Read(part.key, part.value, text[part.start : part.end]) for part in one.parts]
    return found


def pairs(text: str) -> dict[str, str]:
    return {claim.key: claim.value for claim in claims(text)}


def closes(text: str) -> list[tuple[str, str | None]]:
    return [closed for one in kept(text) for closed in one.closes]


def order(text: str) -> tuple[str, str] | None:
    claim = order_claim(text.lower(), 0, len(text))
    return (claim.key, claim.value) if claim else None


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("my name is Bram", "user.name", "bram"),
        ("Call me Bea, not Beatrix", "user.preferred_name", "bea"),
        ("call me bea from now on", "user.preferred_name", "bea"),
        ("my email is kit@old.example", "user.email", "kit@old.example"),
        ("my phone number is 0555 0142", "user.phone_number", "05550142"),
        ("my time zone is CET", "user.timezone", "cet"),
        ("I am 41", "user.age", "41"),
        ("my age is 41", "user.age", "41"),
        ("I live in Ostend", "user.location", "ostend"),
        ("i live in ostend", "user.location", "ostend"),
        ("I work at Ericsson", "user.employer", "ericsson"),
        ("My employer is Philips.", "user.employer", "philip"),
        ("I'm a data engineer", "user.role", "data_engineer"),
        ("I have been promoted to team lead", "user.role", "team_lead"),
        ("I weigh 80 kg", "user.weight", "80"),
        ("I earn 3,100 euros a month", "user.salary", "3100"),
        ("my rent is 4 890 kronor", "user.rent", "4890"),
        ("our budget is 1.2k", "user.budget", "1200"),
        ("I'm divorced", "user.relationship_status", "divorced"),
        ("I study marine biology", "user.studies", "marine_biology"),
        ("my daughter attends Oakfield School", "user.daughter.school", "oakfield_school"),
        ("I'm vegan", "user.diet", "vegan"),
        ("I'm allergic to walnuts", "user.allergy.walnut", "yes"),
        ("I have a severe peanut allergy", "user.allergy.peanut", "yes"),
        ("I'm lactose intolerant", "user.allergy.lactose", "yes"),
        ("I take metformin", "user.medication.metformin", "yes"),
        ("I speak Danish", "user.language.danish", "yes"),
        ("I'm learning Greek", "user.language.greek", "learning"),
        ("my mother tongue is Welsh", "user.language.welsh", "native"),
        ("I prefer dark mode", "ui.theme", "dark"),
        ("I prefer tabs over spaces", "editor.indentation", "tab"),
        ("I prefer aisle seats", "travel.seat", "aisle"),
        ("my birthday is 9 June", "user.birthday", "06-09"),
        ("I report to Ingrid", "user.reports_to", "ingrid"),
        ("Inez is my wife", "user.spouse", "inez"),
        ("my sister is called Hattie", "user.sister.hattie", "hattie"),
        ("My dentist is Dr. Achterberg on Mill Street.", "user.dentist", "achterberg"),
        ("my cat is called Fig", "user.cat.name", "fig"),
    ],
)
def test_keys_have_their_published_names(text: str, key: str, value: str) -> None:
    assert pairs(text) == {key: value}


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("I live in Ostend", "I'm living in Ostend"),
        ("I live in Ostend", "I moved to Ostend"),
        ("I live in Ostend", "btw we're based in Ostend"),
        ("I live in Ostend", "my home is in Ostend"),
        ("I live in Ostend", "We moved to Ostend."),
        ("I live in Ostend", "I've lived in Ostend for two years"),
        ("I live in Ostend", "we have lived in Ostend since the spring"),
        ("I live in Ostend", "ive lived in ostend all my life"),
        ("I live in Ostend", "Since May 2020 I live in Ostend."),
        ("I live in Ostend", "My wife Inez and I live in Ostend."),
        ("I live in Ostend", "Inez and I have lived in Ostend for ages"),
        ("I live in Ostend", "I moved with my two cats to Ostend"),
        ("I live in Ostend", "My address is 9 Harbour Street, Ostend."),
        ("I live in Ostend", "My new home address is 12 Quay Road, Ostend"),
        ("I live in Ostend", "We bought a small house in Ostend and moved in on 3 May."),
        ("I live in Ostend", "i live in ostend w two mates"),
        ("I work at Ericsson", "I'm employed by Ericsson"),
        ("I work at Ericsson", "my new job is at Ericsson"),
        ("I'm a consultant", "I work as a consultant."),
        ("I'm a consultant", "I became a consultant"),
        ("I'm vegan", "I went vegan in December"),
        ("I'm allergic to walnuts", "I have a walnut allergy"),
        ("I take 5 mg ramipril", "I'm on ramipril 5mg daily"),
        ("I take 5 mg ramipril", "I take 5 milligrams of ramipril every morning"),
        ("I report to Ingrid", "Ingrid is my manager"),
        ("I report to Ingrid", "my boss is Ingrid"),
        ("I like dark mode best", "dark theme in all apps please"),
        ("I prefer tabs for indentation", "I use tabs"),
        ("my birthday is 9 June", "I was born on June 9th"),
        ("my cat is called Fig", "our cat's name is Fig"),
        ("I'm married to Inez", "Inez is my wife"),
        ("my dentist is Dr Fox", "Fox is my dentist"),
    ],
)
def test_the_same_fact_in_other_words(said: str, again: str) -> None:
    assert pairs(said)
    assert pairs(again).items() & pairs(said).items()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Ostend", "we relocated from Ostend to Mechelen"),
        ("I work at Ericsson", "I joined Nokia in January"),
        ("my wife works at Philips", "my wife started at Siemens"),
        ("I'm vegetarian", "I'm vegan now"),
        ("I take 5 mg ramipril", "I'm on ramipril 10 mg now"),
        ("I report to Ingrid", "Samir became my manager"),
        ("I like dark mode best", "I switched back to light mode"),
        ("I use spaces", "I use tabs now"),
        ("my email is kit@old.example", "my new email is kit@new.example"),
        ("I'm single", "I got married in 2024"),
        ("my dentist is Dr. Fox", "my new dentist is Dr. Hale"),
        ("my rent is 900", "my rent went up to 1,050"),
        ("I am 41", "I turned 42 yesterday"),
    ],
)
def test_news_about_the_same_thing(old: str, new: str) -> None:
    was, now = pairs(old), pairs(new)

    assert was.keys() == now.keys() != set()
    assert not was.items() & now.items()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Ostend", "my brother lives in Namur"),
        ("I'm allergic to walnuts", "I'm allergic to wasps"),
        ("my son is allergic to eggs", "my daughter is allergic to eggs"),
        ("Ada's birthday is 1 May", "Leo's birthday is 1 May"),
        ("I speak Danish", "I speak Dutch"),
        ("my sister is called Hattie", "my sister is called Wilma"),
        ("My friend Anna lives in Berlin", "My friend Bert lives in Hamburg"),
        ("My colleague Anna is a nurse", "My colleague Bert is a plumber"),
        ("My friend Anna's birthday is 1 May", "My friend Bert's birthday is 2 May"),
        ("My niece Anna is allergic to nuts", "My nephew Bert is allergic to nuts"),
        ("My dog Rex is 3 years old", "My dog Bella is 5 years old"),
    ],
)
def test_different_things_do_not_share_a_slot(one: str, other: str) -> None:
    assert pairs(one)
    assert pairs(other)
    assert not pairs(one).keys() & pairs(other).keys()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "I live in Cork with my aunt, and I am a baker, and my brother Finn is allergic to wasps",
            [
                Read("user.location", "cork", "I live in Cork"),
                Read("user.role", "baker", "I am a baker"),
                Read("finn.allergy.wasp", "yes", "my brother Finn is allergic to wasps"),
            ],
        ),
        (
            "Sabine lives in Graz and works at Bosch.",
            [
                Read("sabine.location", "graz", "Sabine lives in Graz"),
                Read("sabine.employer", "bosch", "works at Bosch"),
            ],
        ),
        (
            "I'm allergic to mustard, celery and lupin",
            [
                Read("user.allergy.mustard", "yes", "mustard"),
                Read("user.allergy.celery", "yes", "celery"),
                Read("user.allergy.lupin", "yes", "lupin"),
            ],
        ),
        (
            "I take ramipril 5mg and metformin 500 mg twice a day",
            [
                Read("user.medication.ramipril", "5mg", "ramipril 5mg"),
                Read("user.medication.metformin", "500mg", "metformin 500 mg"),
            ],
        ),
        (
            "I speak Polish and English, and I'm 47",
            [
                Read("user.language.polish", "yes", "Polish"),
                Read("user.language.english", "yes", "English"),
                Read("user.age", "47", "I'm 47"),
            ],
        ),
    ],
)
def test_of_several_claims_each_has_its_words(text: str, found: list[Read]) -> None:
    assert claims(text) == found


def test_a_sentence_of_several_claims_is_one_finding_without_a_key() -> None:
    (finding,) = kept("I live in Cork, and I am a baker")

    assert (finding.key, len(finding.parts)) == (None, 2)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("My sister Mai lives in Turku.", "mai.location"),
        ("My sister lives in Turku.", "user.sister.location"),
        ("My mother, Nkechi, lives in Enugu.", "user.mother.location"),
        ("My brother's vegan.", "user.brother.diet"),
        ("My brother-in-law works at Bosch.", "user.brother_in_law.employer"),
        ("Olga lives in Delft.", "olga.location"),
        ("Petra Lindqvist lives in Delft.", "petra_lindqvist.location"),
        ("Olga's birthday is 1 May.", "olga.birthday"),
        ("Olga's moved to Delft.", "olga.location"),
        ("Olga reports to Pavel.", "olga.reports_to"),
    ],
)
def test_a_claim_is_of_the_one_who_is_spoken_of(text: str, key: str) -> None:
    assert pairs(text).keys() == {key}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Olga is a nurse. She lives in Delft.", "olga.location"),
        ("Olga is a nurse. Her birthday is 1 May.", "olga.birthday"),
        ("My brother Finn is a baker. He's vegan.", "finn.diet"),
    ],
)
def test_she_is_the_one_who_was_just_spoken_of(text: str, key: str) -> None:
    assert key in pairs(text)


@pytest.mark.parametrize(
    "text",
    [
        "She lives in Delft.",
        "My sister is married to Tom. He works at Bosch.",
        "My sister has a daughter. She is 4.",
        "Olga visited Kim on Sunday. She lives in Delft.",
        "My mother is unwell. He lives in Delft.",
        "My brother called. A girl came along. He lives in Delft.",
        "Takumi has a girl friend, her name is Mio.",
        "Kacper is tall. His dad only speaks Polish.",
    ],
)
def test_she_is_nobody_where_it_may_be_another(text: str) -> None:
    assert not {key for key in pairs(text) if not key.endswith("relationship_status")}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("moved to Hull last week", {"user.location": "hull"}),
        ("I hate raisins. Moved to Hull last week.", {"user.location": "hull"}),
        ("Sheila's off. Moved to Hull last week.", {}),
        ("Sheila lives in Leeds. Moved to Hull last week.", {"sheila.location": "leed"}),
        ("lives in Hull", {}),
    ],
)
def test_what_names_nobody_is_of_the_user_where_nobody_else_was_spoken_of(text: str, found: dict[str, str]) -> None:
    assert pairs(text) == found


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("I left Ericsson in May", ("user.employer", "ericsson")),
        ("I no longer work at Siemens", ("user.employer", "siemen")),
        ("I no longer live in Graz", ("user.location", "graz")),
        ("I moved away from Graz", ("user.location", "graz")),
        ("I'm not vegan", ("user.diet", "vegan")),
        ("Olga has left Philips.", ("olga.employer", "philip")),
    ],
)
def test_a_statement_that_ends_a_claim_names_it(text: str, closed: tuple[str, str]) -> None:
    assert (closes(text), claims(text)) == ([closed], [])


@pytest.mark.parametrize(
    "text", ["Inez and I got divorced last year.", "Inez and me broke up", "Inez and I have separated."]
)
def test_who_parted_is_no_partner_any_more(text: str) -> None:
    assert {("user.spouse", "inez"), ("user.girlfriend", "inez")} <= set(closes(text))


@pytest.mark.parametrize(
    "text",
    [
        "Inez and I haven't split up.",
        "Inez and I split the bill",
        "Inez and I may get divorced",
        "Inez and I broke up a fight",
    ],
)
def test_who_did_not_part_stays_a_partner(text: str) -> None:
    assert closes(text) == []


def test_what_is_over_and_what_is_so_now_stand_side_by_side() -> None:
    text = "I no longer live in Graz, I live in Leeds now."

    assert closes(text) == [("user.location", "graz")]
    assert claims(text) == [Read("user.location", "leed", "I live in Leeds")]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I'm no longer allergic to walnuts", "user.allergy.walnut"),
        ("I'm not allergic to walnuts", "user.allergy.walnut"),
        ("My son outgrew his allergy to eggs", "user.son.allergy.egg"),
        ("I stopped taking metformin", "user.medication.metformin"),
        ("I'm off ramipril now", "user.medication.ramipril"),
    ],
)
def test_of_what_one_may_have_several_the_end_is_a_value(text: str, key: str) -> None:
    assert pairs(text) == {key: "no"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I must not take aspirin.", "user.medication.aspirin"),
        ("I can't take ibuprofen", "user.medication.ibuprofen"),
        ("My dad is not allowed to take metformin.", "user.dad.medication.metformin"),
    ],
)
def test_what_one_must_not_take_is_a_limit(text: str, key: str) -> None:
    (finding,) = kept(text)

    assert (finding.type, finding.key, finding.value) == ("constraint", key, "no")


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Oslo?",
        "you know that I live in Oslo?",
        "where do I live if not in Oslo",
        "isn't my manager Olga",
        "My son is 4 and allergic to eggs, what can I bake?",
    ],
)
def test_a_question_claims_nothing(text: str) -> None:
    assert (claims(text), closes(text)) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "if I lived in Oslo I'd ski every day",
        "Suppose I sold the lot, moved to Longyearbyen and mended snow scooters.",
        "imagine I'm a nurse in Oslo",
        "Pretend I work at Bosch.",
        "maybe I'm allergic to walnuts",
        "I wish I lived in Oslo",
        "I'd love to live in Oslo",
        "I want to move to Oslo",
        "I plan to be vegan",
        "I'm thinking of moving to Oslo",
        "I might be allergic to walnuts",
        "I may move to Oslo",
        "I'll move to Oslo",
        "I'm moving to Oslo in May",
        "We're getting married in April.",
        "I'm applying for a job at Bosch",
    ],
)
def test_what_is_supposed_wished_or_planned_claims_nothing(text: str) -> None:
    assert (claims(text), closes(text)) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "I used to live in Oslo",
        "I lived in Oslo for years",
        "I was a nurse once",
        "I was allergic to eggs as a child",
        "I've never been on insulin.",
        "I don't speak Dutch",
        "I'm not a nurse",
        "I am not 40 yet",
        "don't call me Kate",
        "You never, under any provocation, call me Luke.",
    ],
)
def test_what_was_and_what_is_not_claims_nothing(text: str) -> None:
    assert (claims(text), closes(text)) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "My neighbour's sister lives in Oslo.",
        "My sister's husband works at Bosch.",
        "My boss's wife is a nurse.",
        "Callum's brother Ross lives in Perth.",
        "Olga's flat is in Delft.",
        "Our mam's sister Vera lives in Cramlington.",
        "A cousin of mine, Hiroshi, lives in Munich.",
        "My walking companion Ulrike is married to a notary, lives in Kirchzarten, and has a spaniel.",
        "I have two sisters: Luana is 29, lives in Braga and is a nurse",
        "Dr Moodley has me on amlodipine 5 mg.",
        "Wendy's doctor has taken her off ramipril.",
        "I inject him with insulin twice a day.",
        "Ewa's rent went up to 815 euros.",
        "The trip budget is 900 euros.",
        "our budget for the trip is 900 euros",
        "My phone extension is 41.",
        "My shoe size is 41.",
        "My house is 53 years old now.",
        "They call me Periyappa.",
        "My middle name is Eulalia.",
        "My work email is front@desk.example.",
        "Anna prefers tabs.",
        "The Lisbon release includes a dark mode.",
        "The feature flags live in LaunchDarkly.",
        "Group meeting moved to Thursdays.",
        "Ben thinks I live in Oslo.",
        '"I live in Oslo," said Ben.',
    ],
)
def test_what_is_of_somebody_or_something_else_is_no_claim_of_the_one_named(text: str) -> None:
    assert (claims(text), closes(text)) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "life is a river, my grandmother used to say",
        "everyone is in our garden",
        "people who live in Oslo are tall",
        "we live in troubled times",
        "I live in hope",
        "I'm in Oslo until Friday",
        "I'm living in Oslo for the summer",
        "we moved to Kubernetes last year",
        "We moved to Linear.",
        "We moved to QuickBooks Online",
        "We moved to ClickHouse for our logs",
        "We moved to Acuity instead",
        "I lived in Oslo for ten years.",
        "I have lived in Oslo and in Turku.",
        "I haven't lived in Oslo since 2010",
        "I've lived in fear for years",
        "We found a flat in Oslo and left it in May",
        "I'm staying at Anton's in Oslo for now",
        "My address is 9 Harbour Street.",
        "I moved to Todoist",
        "I work at night",
        "I work for free",
        "I work with Mirela",
        "I work at the bakery on Saturdays",
        "I come to work by bike",
        "I joined the choir",
        "I joined Netflix",
        "I quit smoking",
        "I left my keys at the office",
        "left ear, not the right one",
        "I'm a good cook",
        "I'm treasurer of the choir",
        "My roommate is a pharmacist's widow.",
        "I'm 5 minutes late",
        "I'm 30 and a half weeks pregnant",
        "I weigh 50 kg sacks all day",
        "I go to Lidl",
        "The payment goes to Helena.",
        "I study hard",
        "I study with headphones",
        "I'm single-minded",
        "we're engaged in a lawsuit",
        "I'm vegetarian-adjacent",
        "I'm vegetarian on Mondays",
        "I'm allergic to mornings",
        "I'm learning Spanish guitar",
        "I like the window open at night",
        "Call me tomorrow",
        "call me maybe",
        "my name is on the list",
        "my wife is German",
        "my wife is ill",
        "my boss is great",
        "My boss is Dutch.",
        "my cat is Siamese",
        "My dad's Tesla is red.",
        "my mother's gift",
        "my brother is from another planet",
        "I'm married to my job",
        "my knees are crucial for climbing",
        "those curtains are from my aunt",
        "my advice: start small and keep going",
    ],
)
def test_what_only_sounds_like_a_claim_is_none(text: str) -> None:
    assert (claims(text), closes(text)) == ([], [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I'm allergic to latex and carry a card saying so.", {"user.allergy.latex": "yes"}),
        ("I'm allergic to penicillin, face like a football.", {"user.allergy.penicillin": "yes"}),
        ("I am allergic to cats, not dogs", {"user.allergy.cat": "yes"}),
        ("Hari's allergic to nuts, Noor's vegetarian.", {"hari.allergy.nut": "yes"}),
        ("I take ramipril since aspirin upset my stomach", {"user.medication.ramipril": "yes"}),
        ("I take 5 mg of ramipril and wear an aid in my left ear.", {"user.medication.ramipril": "5mg"}),
        ("I live in Aberdeen near the harbour, back in May", {"user.location": "aberdeen"}),
        ("I work at St. Mike's in Leeds", {"user.employer": "st_mike"}),
    ],
)
def test_a_claim_ends_where_something_else_begins(text: str, value: dict[str, str]) -> None:
    assert pairs(text) == value


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Odense was charming, but I live in Aarhus again", "user.location", "aarhus"),
        ("our house is green and I live in Odense", "user.location", "odense"),
        ("No wait, I live in Odense", "user.location", "odense"),
        ("for the record, I'm vegan", "user.diet", "vegan"),
        ("Please remember that my sister is vegan", "user.sister.diet", "vegan"),
    ],
)
def test_the_claim_is_read_without_what_stands_around_it(text: str, key: str, value: str) -> None:
    assert pairs(text) == {key: value}


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I joined Bosch in May", "user.employer", "bosch"),
        ("Ada's birthday is 1 May", "ada.birthday", "05-01"),
        ("I have lived here since May, and I'm vegan", "user.diet", "vegan"),
    ],
)
def test_may_is_a_month_where_it_stands_like_one(text: str, key: str, value: str) -> None:
    assert pairs(text) == {key: value}


@pytest.mark.parametrize("text", ["we decided to sell the barge", "remind me to ring Omar", "I broke a tooth in 2019"])
def test_what_is_in_no_slots_words_has_no_key(text: str) -> None:
    assert [one.key for one in kept(text)] == [None]


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        ("always answer in Danish", ("assistant.language", "danish")),
        ("Answer in English, not German.", ("assistant.language", "english")),
        ("Portuguese from now on please", ("assistant.language", "portuguese")),
        ("Don't use emojis.", ("assistant.emojis", "no_emojis")),
        ("Use emojis, please.", ("assistant.emojis", "emojis")),
        ("Use bullets, not tables.", ("assistant.bullets", "bullet")),
        ("no bullet points", ("assistant.bullets", "no_bullet_point")),
        ("Bullets are not welcome.", ("assistant.bullets", "no_bullet")),
        ("be less formal", ("assistant.formality", "no_formal")),
        ("use metric units", ("assistant.units", "metric")),
        ("Forget what I said about metric, use imperial.", ("assistant.units", "imperial")),
        ("don't use celsius, use fahrenheit", ("assistant.units", "fahrenheit")),
        ("I want British English", ("assistant.spelling", "british_english")),
    ],
)
def test_an_order_has_the_trait_that_it_is_about(text: str, trait: tuple[str, str]) -> None:
    assert order(text) == trait


@pytest.mark.parametrize("text", ["Keep your answers short and never use emojis.", "Answer in German, with bullets."])
def test_an_order_about_several_traits_has_none_whose_change_would_end_the_others(text: str) -> None:
    assert order(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("always answer in Danish", "please reply in Danish from now on"),
        ("keep your answers short", "short replies please, always"),
        ("keep your answers short", "be brief"),
    ],
)
def test_the_same_order_in_other_words(one: str, other: str) -> None:
    assert order(one) == order(other) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("always answer in Danish", "from now on answer in English"),
        ("keep your answers short", "write long answers"),
        ("always use emojis", "stop using emojis"),
        ("write dates in ISO format", "write dates as dd.mm.yyyy"),
    ],
)
def test_an_order_with_another_value_is_news(old: str, new: str) -> None:
    was, now = order(old), order(new)

    assert was is not None
    assert now is not None
    assert was[0] == now[0]
    assert was[1] != now[1]


@pytest.mark.parametrize(
    "text",
    [
        "Only suggest French wines, please",
        "Please translate my German letters",
        "Stop answering in German",
        "Always book a table by the window",
        "Always book aisle seats on long flights",
        "Never buy from Amazon",
        "Never schedule meetings on Fridays",
        "Don't use emojis when you write to my boss",
        "Never use emojis in emails",
        "Speak Polish with me on Sundays",
        "Answer me like a pirate",
    ],
)
def test_an_order_among_many_or_for_some_occasions_holds_no_slot(text: str) -> None:
    assert order(text) is None
