"""Whether a fact is still found after another fact of the same turn has changed.

Each pair of facts is stated in one sentence; then the first fact changes, and the second is asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any, Final

from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.memories.models import Memory
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Scope
from apps.recall.services import recall
from benchmarks.recall import embed_the_rest

FIRST: Final = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """said: a clause.  word: identifies it in a result.  changed: a statement that ends it.  question: asks for it."""

    said: str
    word: str
    changed: str
    question: str


FACTS: Final = tuple(
    Fact(*one)
    for one in (
        ("I live in Utrecht", "Utrecht", "I moved to Breda.", "Where do I live?"),
        ("I work at Philips", "Philips", "I work at Siemens now.", "Where do I work?"),
        ("my wife is called Anna", "Anna", "Anna and I are divorced.", "What is the name of my wife?"),
        ("my dog is called Rex", "Rex", "Our dog died last week.", "What is my dog called?"),
        ("I am 29 years old", "29", "I just turned 30.", "How old am I?"),
        ("I am diabetic", "diabetic", "I am cured of diabetes.", "Which illness do I have?"),
        ("I am a vegetarian", "vegetarian", "I eat meat again.", "What is my diet?"),
        ("I take metformin every morning", "metformin", "I stopped metformin.", "Which medicine do I take?"),
        (
            "I am allergic to penicillin",
            "penicillin",
            "It turned out that I tolerate penicillin.",
            "What am I allergic to?",
        ),
        ("I drive an old Volvo", "Volvo", "I sold the car and bought a Skoda.", "Which car do I drive?"),
        ("my sister teaches in Porto", "Porto", "My sister left Porto for Lisbon.", "Where does my sister teach?"),
        ("my brother studies law in Ghent", "law", "My brother switched to medicine.", "What does my brother study?"),
        ("my boss is Mr. Okafor", "Okafor", "My new boss is Ms. Lindqvist.", "Who is my boss?"),
        ("I play the cello in the town orchestra", "cello", "I gave up the cello.", "Which instrument do I play?"),
        ("I run ten kilometres on Sundays", "Sundays", "I have stopped running.", "When do I run?"),
        ("our twins are Mia and Leo", "Mia", "The twins are called Mina and Leon now.", "What are the twins called?"),
        ("the rent is 900 euros", "900", "The rent went up to 960 euros.", "How high is the rent?"),
        ("the wifi router stands in the attic", "attic", "The router is in the hall now.", "Where is the router?"),
        ("my flight leaves at 7:40", "7:40", "The flight was moved to 9:15.", "When does my flight leave?"),
        ("the dentist is on 14 May", "14 May", "The dentist moved it to 21 May.", "When is the dentist?"),
        (
            "my landlord is Herr Brock",
            "Brock",
            "The house was sold, the landlord is Frau Weiss.",
            "Who is my landlord?",
        ),
        ("I prefer window seats", "window", "I would rather sit on the aisle now.", "Which seat do I prefer?"),
        ("I wear size 43 shoes", "43", "My shoes are size 44 now.", "What is my shoe size?"),
        ("I am learning Finnish", "Finnish", "I dropped Finnish and learn Czech.", "Which language am I learning?"),
        ("my laptop is a ThinkPad", "ThinkPad", "I replaced the laptop by a MacBook.", "Which laptop do I have?"),
        ("I bank with Triodos", "Triodos", "I changed my bank to Rabobank.", "What is my bank?"),
        ("my doctor is Dr. Naidoo", "Naidoo", "Dr. Naidoo retired, I see Dr. Kgomo now.", "Who is my doctor?"),
        (
            "the project is due in March",
            "March",
            "The deadline of the project is now June.",
            "When is the project due?",
        ),
        ("Marta leads the billing team", "Marta", "Jana took over the billing team.", "Who leads the billing team?"),
        ("Otto tests the mobile app", "Otto", "Otto left the company.", "Who tests the mobile app?"),
        (
            "the staging server runs Debian",
            "Debian",
            "The staging server was moved to Ubuntu.",
            "What does staging run?",
        ),
        (
            "the budget of the trip is 1200 euros",
            "1200",
            "The trip may cost 1500 euros.",
            "What is the budget of the trip?",
        ),
        (
            "my daughter goes to the Montessori school",
            "Montessori",
            "My daughter changed to the Waldorf school.",
            "Which school does my daughter go to?",
        ),
        ("our cat sleeps in the kitchen", "kitchen", "The cat sleeps on the sofa now.", "Where does the cat sleep?"),
        ("I keep the spare key at Maud's", "Maud", "Maud gave the spare key back.", "Where is the spare key?"),
        ("I fast on Fridays", "Fridays", "I no longer fast.", "On which day do I fast?"),
        ("my knee hurts since the marathon", "knee", "The knee is fine again.", "What hurts since the marathon?"),
        ("I volunteer at the food bank", "food bank", "I left the food bank.", "Where do I volunteer?"),
        ("my mother lives in a home in Kaarst", "Kaarst", "My mother moved in with us.", "Where does my mother live?"),
        (
            "I pay the broadband on the 28th",
            "28th",
            "The broadband goes off on the 6th now.",
            "When do I pay the broadband?",
        ),
        ("my tutor is called Geraldine", "Geraldine", "I have another tutor, Priya.", "Who is my tutor?"),
        (
            "I grow tomatoes on the balcony",
            "tomatoes",
            "The tomatoes died, I grow beans.",
            "What do I grow on the balcony?",
        ),
        ("I sing in the Bach choir", "Bach", "I left the choir.", "Where do I sing?"),
        ("the boat lies in Koster", "Koster", "The boat was moved to Marstrand.", "Where does the boat lie?"),
        ("I gave up alcohol in 2019", "2019", "I drink wine again.", "When did I give up alcohol?"),
        (
            "my glasses have minus three",
            "minus three",
            "My eyes were lasered, I need no glasses.",
            "How strong are my glasses?",
        ),
    )
)


def pairs(limit: int) -> Iterator[tuple[Fact, Fact]]:
    """(changing fact, unchanged fact), each pair in both orders."""
    yield from list(permutations(FACTS, 2))[:limit]


def run(scope: Scope, *, limit: int, now: datetime, say: Callable[[str], object]) -> dict[str, Any]:
    """Figures of all pairs.  scope: of the tenant, without spaces."""
    lost: list[str] = []
    stale = count = 0
    for count, (changing, beside) in enumerate(pairs(limit), 1):
        mine = scope.in_spaces(get_or_create_end_user(scope, f"bystander-{count}-{now.timestamp()}", now=now))
        said = f"{changing.said}, and {beside.said}." if count % 2 else f"{beside.said}, and {changing.said}."
        _tell(mine, said[0].upper() + said[1:], now=now)
        _tell(mine, changing.changed, now=now + timedelta(days=9))
        after = now + timedelta(days=10)
        if not _is_found(mine, beside, now=after):
            lost.append(f"{said} | {changing.changed}")
        stale += _is_found(mine, changing, now=after, sentence=said)
        if count % 200 == 0:
            say(f"{count} pairs, {len(lost)} lost")
    return {
        "pairs": count,
        "what stood beside it is found": count - len(lost),
        "what changed still stands": stale,
        "lost": lost[:20],
        "is_good": not lost,
    }


def _tell(scope: Scope, text: str, *, now: datetime) -> None:
    remember(scope, [Proposal(text=Plaintext(text))], now=now)
    with tenant_transaction(scope):
        ids = list(Memory.objects.within(scope).values_list("pk", flat=True))
    embed_the_rest(scope, ids, now=now)  # as the worker does for memories that lost a part


def _is_found(scope: Scope, fact: Fact, *, now: datetime, sentence: str = "") -> bool:
    """Whether one of the first hits states the fact.  sentence: count only memories that began as this one."""
    hits = recall(scope, Plaintext(fact.question), limit=FIRST, now=now).hits
    return any(
        fact.word in hit.memory.text.reveal() and sentence.lower() in hit.memory.said.reveal().lower() for hit in hits
    )
