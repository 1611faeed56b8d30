"""Scripts of changing facts: templates, values, and a seeded dice between them.  Nothing here is from a data set."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Attribute:
    """One thing that is so until it is otherwise.  first: how it is told.  change: {new} after {old}.  back: again."""

    name: str
    values: Sequence[str]
    first: Sequence[str]
    change: Sequence[str]
    back: Sequence[str]


ATTRIBUTES: Sequence[Attribute] = (
    Attribute(
        "home",
        ("Tartu", "Nantes", "Aarhus", "Graz", "Bilbao", "Turku", "Leeds", "Parma"),
        ("I live in {new}.", "I'm living in {new} these days.", "My home is in {new}, near the river."),
        ("I live in {new} now.", "I moved from {old} to {new}.", "I no longer live in {old}, I live in {new} now.",
         "We left {old} behind and moved to {new}."),
        ("I moved back to {new}.", "I live in {new} again."),
    ),
    Attribute(
        "employer",
        ("Philips", "Maersk", "Nestle", "Ikea", "Bayer", "Airbus", "Zalando", "Ericsson"),
        ("I work at {new}.", "I work for {new} as an analyst.", "My employer is {new}."),
        ("I work at {new} now.", "I left {old} and joined {new}.", "I've switched jobs and work for {new} now.",
         "I quit {old} and started at {new}."),
        ("I work at {new} again.", "I work for {new} again."),
    ),
    Attribute(
        "diet",
        ("vegan", "vegetarian", "pescatarian"),
        ("I'm {new}.", "I am {new} for health reasons."),
        ("I'm {new} now.", "I went {new}.", "I'm not {old} any more, I am {new} now."),
        ("I'm {new} again.",),
    ),
    Attribute(
        "theme",
        ("dark mode", "light mode"),
        ("I use {new} in my editor.", "I prefer {new}."),
        ("I switched to {new}.", "I prefer {new} now.", "I switched from {old} to {new}."),
        ("I switched back to {new}.",),
    ),
    Attribute(
        "manager",
        ("Yusuf", "Ingrid", "Paolo", "Noor", "Henrik", "Mireille"),
        ("My manager is {new}.", "I report to {new}."),
        ("My new manager is {new}.", "I report to {new} now.", "{new} is my manager now."),
        ("My manager is {new} again.", "I report to {new} again."),
    ),
    Attribute(
        "rent",
        ("700 euros", "950 euros", "1200 euros", "480 euros"),
        ("My rent is {new}.", "I pay {new} in rent."),
        ("The rent is now {new}.", "My rent went up to {new}.", "Our rent is {new} now."),
        ("My rent is {new} again.",),
    ),
    Attribute(
        "role",
        ("a product manager", "a data engineer", "a team lead", "a consultant"),
        ("I'm {new}.", "I work as {new}."),
        ("I'm {new} now.", "I work as {new} now.", "I became {new}."),
        ("I'm {new} again.", "I work as {new} again."),
    ),
)  # fmt: skip

# Said in between: other people, other things, and nothing at all.
BESIDE = (
    "My sister Elin lives in Malta.", "My brother works at a bakery.", "Thanks, that helps!", "ok great",
    "I have a cat called Miso.", "I'm allergic to shellfish.", "Can you explain how tides work?",
    "I play the cello on Thursdays.", "My neighbour is a nurse.", "What should I cook tonight?",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """day: when it is said.  value: what is so from then on; None for what is said in between."""

    day: int
    text: str
    value: str | None


def script(seed: int) -> tuple[Attribute, list[Change]]:
    """The attribute, and what is said of it and beside it, in order: two to four changes, some of them back."""
    dice = random.Random(seed)
    about = ATTRIBUTES[seed % len(ATTRIBUTES)]
    values = list(about.values)
    dice.shuffle(values)
    now = values.pop()
    said: list[str] = []
    day = 0
    told = [Change(day, dice.choice(about.first).format(new=now), now)]
    for _ in range(dice.randint(2, 4)):
        for text in dice.sample(BESIDE, dice.randint(0, 2)):
            day += dice.randint(1, 9)
            told.append(Change(day, text, None))
        day += dice.randint(2, 30)
        is_back = bool(said) and (not values or dice.random() < 0.3)
        before = now
        if is_back:
            now = dice.choice([one for one in said if one != before])
            text = dice.choice(about.back)
        elif values:
            now = values.pop()
            text = dice.choice(about.change)
        else:
            break
        said = list(dict.fromkeys([*said, before]))
        told.append(Change(day, text.format(new=now, old=before), now))
    return about, told
