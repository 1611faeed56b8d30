"""Keys about what comes round on fixed days: "we deploy on Tuesdays", "gym day is Thursday"."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import Claim, Clause, search_in
from apps.ingest.rules.lexicon import listed
from apps.ingest.rules.subjects import slug
from text import patterns

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_DAYS = rf"(?P<v>(?:every |each )?{_DAY}(?:(?:,? and |, | & ){_DAY}){{0,4}})"
_DOING = (
    r"(?P<n>deploy|release|ship|meet|train|swim|run|cycle|volunteer|rehearse|practi[sc]e|invoice|bill|publish|sail"
    r"|climb|row"
    r"|work out|work from home|work remotely|fast)s?"
)
_ROUTINE = patterns.compile(
    rf"\b(?:i|we|he|she|they|team) (?:always |usually |only |now |normally )*(?:{_DOING}|(?:go to|have|do|play|hold"
    rf"|attend|teach|do my"
    rf"|take) (?:the |our |my |an? )?(?P<n2>[a-z][a-z-]{{1,20}}(?: [a-z-]{{2,20}})?(?<! on)))(?: class| lessons?|"
    rf" practice| sessions?)? "
    rf"(?:is |are )?(?:now )?(?:on |every |each )+{_DAYS}"
    rf"|\b(?:the |our |my )?(?P<n4>[a-z][a-z-]{{1,20}}) (?:happens?|takes? place|goes? out|falls?|(?:is|are)"
    rf" (?:always |usually |held )*)"
    rf"(?: always| now| usually)* ?(?:on |every |each )+{_DAYS.replace('?P<v>', '?P<v4>')}"
    rf"|\b(?P<n3>[a-z][a-z-]{{1,20}}) day(?: now)? is(?: now)? {_DAYS.replace('?P<v>', '?P<v3>')}"
)
_NO_ROUTINE = listed("it that this them to work lunch dinner breakfast time fun pizza day days off")
_ONE_MORE = patterns.compile(
    r"\b(?:also|too|as well|additionally|another|never|don'?t|not|no|doesn'?t|won'?t|can'?t)\b"
)
_DATED = patterns.compile(r",? (?:the )?\d")  # "on Sunday the 30th" is one day
_STEM = {"release": "release", "practise": "practice"}


def routine(clause: Clause) -> Iterator[Claim]:
    match = search_in(_ROUTINE, clause)
    if match is None or search_in(_ONE_MORE, clause) or _DATED.match(clause.low, match.end()):
        return
    what = match["n"] or match["n2"] or match["n3"] or match["n4"]
    if what.split()[0] in _NO_ROUTINE:
        return
    days = match["v"] or match["v3"] or match["v4"]
    named = "_".join(sorted(slug(day) for day in patterns.findall(_DAY, days)))
    yield Claim(f"{slug(_STEM.get(what, what))}.schedule", named, general=True)
