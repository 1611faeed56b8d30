"""Slots with several values: allergies, medicines, languages."""

from collections.abc import Iterator
from typing import Final

from text import patterns
from text.extraction.lexicon import LANGUAGES, MEDICINE_ENDING, MEDICINES, any_of, listed
from text.extraction.slots.clause import Claim, Clause, Reader, asserts, items
from text.extraction.subjects import slug

_ITEM: Final = r"[a-z][a-z'-]{1,24}(?: [a-z'-]{2,24}){0,2}?"
_ENDS: Final = (
    r"(?=\s*(?:$|[,.;:!?()]|-\s)|\s+(?:and|or|but|so|since|because|cos|which|if|too|also|though|in|from|on|at|after|for"
    r"|when|until|now|btw|like|that|badly|as|apparently|actually|please|unfortunately|sadly|any ?more)\b)"
)
# A list needs an "and": after a comma alone, anything may follow.
_LIST: Final = rf"(?P<l>{_ITEM}(?:(?:, {_ITEM}){{0,5}},? (?:and|or|&) (?:to )?{_ITEM})?){_ENDS}"
_ALLERGIC: Final = patterns.compile(
    rf"\ball?erg(?:ic|y|ies) (?:is )?to (?:all |any |raw |some |the ){{0,2}}{_LIST}"
    r"|\b(?:an?|my|his|her) (?:severe |bad |mild |serious |slight )?"
    rf"(?P<n>[a-z]+(?: (?:nut|milk|sting|mite|dander|pollen))?) allergy{_ENDS}"
    r"|\b(?P<i>lactose|gluten|histamine|fructose)[- ]intolerant\b"
)
_DENIED: Final = patterns.compile(
    r"(?:[\s,]*(?:'s|'m|is|am|are|has|have|been|really|actually|now|apparently)\b)*[\s,]*"
    r"(?:no longer|not|isn't|aren't|ain't|never been|outgrew|outgrown|grew out of|lost|don't have|doesn't have|no)\b"
    r"(?: (?:my|his|her|the|an?|really|actually|been|have|known|longer))*\s*"
)
_NO_ALLERGEN: Final = listed(
    "it that this them those me you him her anything everything nothing a an the any food severe bad other others"
    " mornings mondays meetings work bullshit nonsense stupidity exercise jargon people cardio drama small admin"
    " carries"
    " carry has gets takes needs wears avoids keeps is are must can have badly severely properly allergic vegetarian"
    " vegan"
    " diabetic asthmatic also hates loves lives works hate love live don't cannot can't never he she i we my his her"
    " broke came brought got made makes comes"
)
_DOSE: Final = (
    r"\d+(?:[.,]\d+)?\s?(?:mg|milligrams?|mcg|micrograms?|ug|µg|g|ml|iu|units?|drops?|puffs?|tablets?|pills?)"
)
_UNITS: Final = (
    (" ", ""),
    (",", "."),
    ("milligrams", "mg"),
    ("milligram", "mg"),
    ("micrograms", "mcg"),
    ("microgram", "mcg"),
)
_OFTEN: Final = (
    r"(?:,? (?:(?:once|twice|three times|four times) )?(?:daily|a day|at (?:night|noon|bedtime|breakfast)"
    r"|in the (?:morning"
    r"|evening)s?|every (?:morning|evening|night|day)|with (?:breakfast|lunch|dinner|food)|mornings|evenings))*"
)
_TAKES: Final = patterns.compile(
    r"\b(?:takes?|taking|(?:back |put )?on|prescribed|started(?: on| taking)?|switched to)\b"
)
_TAKES_NO: Final = patterns.compile(
    r"\b(?:no longer (?:takes?|taking|on|needs?)|not (?:taking|on)|(?:don't|doesn't|never) take|stopped taking|quit"
    r"|c[ao]me off|finished(?: taking)?|off|gave up)\b(?: any\b)?"
)
_MUST_NOT_TAKE: Final = patterns.compile(
    r"\b(?:must(?: not|n't| never)|can(?:not|'?t)|may not|should(?: not|n't| never)"
    r"|(?:is|am|'m|'s) not allowed(?: to)?) (?:take|have|use)\b"
)
_MEDICINE: Final = patterns.compile(
    rf"[\s,]*(?:(?:and|plus|&)\s+)?(?:(?:my|the|his|her|some|an?|one|two|daily|regular|low[- ]dose)\s+){{0,2}}"
    rf"(?:(?P<d>{_DOSE}) (?:of )?)?(?P<v>{any_of(MEDICINES)}|[a-z]{{3,20}}(?:{'|'.join(MEDICINE_ENDING)}))\b"
    rf"(?:,?(?: xr| er| sr)? (?P<e>{_DOSE}))?{_OFTEN}"
)
_SPEAKS: Final = patterns.compile(
    r"\b(?P<no>no longer )?(?P<how>speaks?|fluent in"
    r"|native language(?: is)?|mother tongue(?: is)?|learning|first language is)"
    rf" (?:a bit of |some |fluent |basic |only |also |both )?(?P<l>{any_of(LANGUAGES)}(?:(?:, and |, | and )"
    rf"(?:some |a bit of |basic )?{any_of(LANGUAGES)}){{0,4}})\b"
    r"(?! (?:guitar|cooking|cuisine|dances?|dancing|history|law|literature|whist))"
)
_LANGUAGE: Final = patterns.compile(any_of(LANGUAGES))


def _allergies(clause: Clause) -> Iterator[Claim]:
    match = clause.search(_ALLERGIC) if asserts(clause, also_untrue=True) else None
    if match is None or clause.who is None:
        return
    is_over = _DENIED.fullmatch(clause.before(match)) is not None
    if not is_over and not clause.says(_ALLERGIC):
        return
    group = "l" if match["l"] is not None else "n" if match["n"] is not None else "i"
    found, at = items(match[group]), match.start(group)
    for item in found:
        said = item.removeprefix("to ")
        at = clause.low.index(said, at, match.end(group))
        if not slug(said) or _NO_ALLERGEN & set(said.split()) or (item is not found[0] and clause.plain[at].isupper()):
            return
        end = at + len(said)
        start = at
        if len(found) == 1:
            start, end = clause.start, max(end, match.end())
        yield Claim(f"{clause.who}.allergy.{slug(said)}", "no" if is_over else "yes", start, end, many_valued=True)
        at = end


def _medicines(clause: Clause) -> Iterator[Claim]:
    if clause.who is None:
        return
    forbidden = clause.says(_MUST_NOT_TAKE)
    if forbidden is None and not asserts(clause, also_untrue=True):
        return
    denied = forbidden or clause.says(_TAKES_NO)
    takes = denied or clause.says(_TAKES)
    found: list[patterns.Match] = []
    match = _MEDICINE.match(clause.low, takes.end(), clause.end) if takes else None
    while match is not None:
        found.append(match)
        match = _MEDICINE.match(clause.low, match.end(), clause.end)
    for match in found:
        dose = match["d"] or match["e"]
        start, end = (
            match.start("d" if match["d"] is not None else "v"),
            match.end("e" if match["e"] is not None else "v"),
        )
        if len(found) == 1:
            start, end = clause.start, match.end()
        value = "no" if denied else _dose(dose) if dose else "yes"
        key, type_ = f"{clause.who}.medication.{slug(match['v'])}", "constraint" if forbidden else "fact"
        yield Claim(key, value, start, end, many_valued=True, type=type_)


def _dose(said: str) -> str:
    for long, short in _UNITS:
        said = said.replace(long, short)
    return slug(said)


def _languages(clause: Clause) -> Iterator[Claim]:
    match = clause.says(_SPEAKS) if asserts(clause, also_untrue=True) else None
    if match is None or clause.who is None or (not match["no"] and not asserts(clause)):
        return
    how = match["how"]
    level = "learning" if how == "learning" else "yes" if how.startswith(("speak", "fluent")) else "native"
    found = list(_LANGUAGE.finditer(clause.low, *match.span("l")))
    for one in found:
        start = clause.start if len(found) == 1 else one.start()
        value = "no" if match["no"] else level
        yield Claim(f"{clause.who}.language.{slug(one[0])}", value, start, one.end(), many_valued=True)


READERS: Final[tuple[Reader, ...]] = (_allergies, _medicines, _languages)
