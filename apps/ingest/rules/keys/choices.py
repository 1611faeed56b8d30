"""Keys about what is chosen over something else, and what is somebody's favourite of a kind."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import Claim, Clause, has_capital, person_of, search_in, signature
from apps.ingest.rules.keys.things import stated_key
from apps.ingest.rules.lexicon import THING_OF, listed
from apps.ingest.rules.subjects import Subject, slug
from text import patterns

_OPTION = (
    r"[a-z][\w'+#-]{1,24}(?: (?!over\b|to\b|than\b|more\b|better\b|rather\b|any\b|and\b|any ?day\b)[\w'+#-]{2,24})?"
)
_BUT = (
    r"(?=\s*(?:$|[,.;!?)]|\s(?:any|every|when|if|for|in|at|on|by|because|always|please|tbh|lol|though|these"
    r"|nowadays)\b))"
)
# "I prefer tea to coffee", "I like tea more than coffee", "tea over coffee any day".
_COMPARED = patterns.compile(
    rf"\b(?:prefers?|favou?rs?|(?:'d|would)(?: always| rather)? (?:take|pick|choose|have)|choose|picks?|takes?) "
    rf"(?P<a>{_OPTION}) (?:to|over|rather than|instead of) (?P<b>{_OPTION}){_BUT}"
    rf"|\b(?:likes?|loves?|enjoys?) (?P<a2>{_OPTION}) (?:much |far |way |a lot )?(?:more|better) than"
    rf" (?P<b2>{_OPTION}){_BUT}"
    rf"|^(?P<a3>{_OPTION}) (?:over|beats) (?P<b3>{_OPTION})(?= any ?day\b| any ?time\b| always\b| every time\b)"
    rf"|\b(?:'d|would) rather (?:have |drink |eat |use |take |get )?(?P<a4>{_OPTION}) than (?P<b4>{_OPTION}){_BUT}"
)
_NO_OPTION = listed(
    "it this that them you me him her us be to go do not being having doing getting when if what how the"
)
# "Helix is the editor I like best", "my favourite editor is Helix": one key, however it is turned.
_BEST = patterns.compile(
    r"\b(?P<v>[^\W_][\w+#.'-]{0,24}(?: [\w+#.'-]{1,24}){0,2}?) (?:is|are|remains)(?: still| by far| easily|"
    r" definitely)? (?:the "
    r"(?P<n>[a-z]+(?: [a-z]+)?) (?:that )?(?:i|we) (?:like|love|enjoy|prefer)(?: the)? (?:best|most)"
    r"|(?:my|our)(?: all[- ]time| absolute)? favou?rite (?P<n2>[a-z]+(?: [a-z]+)?))\b"
)


def compared(clause: Clause) -> Iterator[Claim]:
    """Of two things that are weighed against each other, the one that is preferred; another choice replaces it."""
    who, match = person_of(clause), search_in(_COMPARED, clause)
    if who is None or match is None:
        return
    chosen, other = next((match[f"a{n}"], match[f"b{n}"]) for n in ("", "2", "3", "4") if match[f"a{n}"])
    if chosen.split()[0] in _NO_OPTION or other.split()[0] in _NO_OPTION:
        return
    pair = sorted((slug(chosen), slug(other)))
    if all(pair):
        yield Claim(f"{who}.prefers.{'_or_'.join(pair)}", slug(chosen), type="preference")


def favourite(clause: Clause) -> Iterator[Claim]:
    match = search_in(_BEST, clause)
    if match is None or match["v"].split()[0] in _NO_OPTION:
        return
    kind = slug(match["n"] or match["n2"])
    if match["n2"] is None and not (has_capital(clause, match) or match["v"] in THING_OF):
        return
    if THING_OF.get(match["v"]) == kind:
        yield Claim(f"user.{kind}", slug(match["v"]), type="preference")
    else:
        turned = Subject("user", is_person=True, attribute=f"favourite_{kind}", after=clause.start, whose="my")
        yield Claim(stated_key(turned), signature(match["v"]), type="preference")
