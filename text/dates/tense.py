"""Whether a clause is about the past or the future, a habit, or a new date that replaces an old one."""

from text import patterns
from text.dates.expressions import DAYNAME, MONTH

OLD_DATE = patterns.compile(
    r"(?:\bfrom|\binstead of|(?:\bnot|n'?t)(?: on)?|\brather than|\boriginally(?: on| for)?|\bwas(?: on| for)?"
    r"|\bno longer(?: on)?)\s+(?:the\s+)?$"
)
NEW_DATE = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|brought forward|bumped|delayed|slipped|changed|switched|now"
    r"|instead|new date|back to)\b"
)

RESCHEDULED = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|changed|bumped|delayed|brought forward"
    r"|slipped)\b.{0,40}\bfrom\s+$"
)
_RESCHEDULED_TO = patterns.compile(
    r"\b(?:moved|pushed|postponed|rescheduled|shifted|changed|bumped|delayed|brought forward"
    r"|slipped)\b.{0,80}\b(?:to|until|till)\s+(?:the\s+)?$"
)

_OBJECT = r"(?:my|the|our|an?|his|her|its|their|your|this|that|these|those|it|them|everything|all)\b"
_TO_BE_DONE = patterns.compile(
    r"(?:(?:'m|'re|'s|'ll|\b(?:am|are|is|be|will|to|im|must|should)) (?:having|getting|have|get)|^(?:please )?get)"
    rf" {_OBJECT}[^,;]{{1,60}}$"
)
_DONE = r"(?:\w{2,}ed|done|cut|made|sent|sold|paid|built|put|brought|taken|gone|set|rebuilt|redone|written|back|out)"
# "I want the boiler replaced": no pronoun stands between, as in "the boiler they replaced".
_WISHED = patterns.compile(
    rf"(?:\b(?:needs?|wants?)|(?:\bwould|'d) (?:like|love|prefer)) {_OBJECT}"
    r"(?: (?!(?:to|i|we|he|she|it|they|you|that|which|who|when|because|and|but)\b)[\w'-]+){0,5}"
    rf" {_DONE}\b[^,;]{{0,30}}$"
)

_ARRANGED_FOR = patterns.compile(
    r"\b(?:booked|scheduled|planned|reserved|arranged|bought|got|registered|signed up|invited|ordered|set|made"
    r"|have|has|had)\b[^,;]{1,60}\bfor\s+(?:the\s+|early\s+|mid[\s-]|late\s+|on\s+)?$"
)

_PAST = (
    r"was|were|had|did|went|got|ran|met|saw|came|left|bought|sold|made|took|gave|found|lost|won|wrote|read|began"
    r"|broke|built|caught|chose"
    r"|fell|felt|flew|grew|heard|held|kept|knew|led|paid|put|quit|sent|slept|spent|spoke|stood|swam|taught|thought"
    r"|told|woke|wore|hired|rode|sat|hung|bit|blew|drew|forgot|froze|hid|laid|lent|meant|rang|rose|shook|shot|sank"
    r"|stole|stuck|struck|swore|threw|tore|understood|withdrew|dug|fed|fought|bred|lit|overslept"
    r"|finished|been|gone|done|drove|ate|drank|sang|became|began|since|(?<!ne)(?<!spe)(?<!bre)(?<!fe)[a-z]{2,}ed"
)
_FUTURE = (
    r"(?:get|getting|be|being|is|are|am|'m|'re)\s+(?:\w+ly\s+)?(?!(?:been|had|gone)\b)[a-z]{3,}ed|will|'ll|gonna"
    r"|going to|need|needs|have to|has to|must|should|remind|todo|due|deadline|plan(?:s|ning)?|is|are"
    r"|(?<=\bit)'s|(?<=\bhe)'s|(?<=she)'s|(?<=that)'s|(?<=there)'s|'re|am|'m|be|starts?"
    r"|ends?|begins|opens|closes|expires|leaves|arrives|want|wants|moving|flying|meeting|leaving|starting|visiting"
    r"|travel(?:l)?ing|getting|(?:would|'d)\s+(?:like|love|prefer)"
    r"|launch(?:es|ing)?|ships?|by|until|till|before|book|call|ping|let's|lets|can|could|coming"
    r"|(?:(?<![a-z ])[a-z]{3,}ing)|(?:pushed|postponed|rescheduled|shifted"
    r"|bumped|delayed|brought forward|scheduled|booked|planned|set|expected)\s+(?:back\s+)?(?:to|for|until|on)"
    # A meeting moves to another day, a person to another place.
    # "I've got an exam" is not past tense.
    rf"|(?:'ve|have|has|'s)\s+(?:also\s+|just\s+)?got\s+(?:an?|my|our|another|the|two|three|to)"
    r"|'ve\s+to|'s\s+(?:now\s+|also\s+)?(?:on|at|in|due|next|this|tomorrow|not)"
    rf"|moved\s+(?:back\s+|forward\s+|up\s+)?(?:to|until)(?=\s+(?:the\s+)?(?:\d|next|this|tomorrow|tonight|early"
    rf"|mid|late|end|q[1-4]|noon|{DAYNAME}|{MONTH}|spring|summer|autumn|winter|christmas|new year))"
)
_TENSE = patterns.compile(
    rf"(?:\b|(?='))(?:(?P<future>{_FUTURE})|(?P<past>(?<!the )(?<!\ba )(?<!\ban )(?<!my )(?<!our )(?:{_PAST})))\b"
)  # "the hired van" is no verb

# "We moved on 2 December": the verb is about the date itself.  "We have planned 2 December" is about one to come.
_HAPPENED = patterns.compile(rf"\b(?P<verb>{_PAST})(?:\s+[\w'-]+){{0,3}}\s+$")
_ARRANGED = patterns.compile(
    r"(?:planned|decided|booked|rebooked|scheduled|agreed|arranged|fixed|set|asked|invited|slipped|settled|reserved"
    r"|promised|got|had|was|were|been|made|gave|put|need\w*)$"
)
_AND = r"\s*(?:,|,?\s*\b(?:and|n|or)\b|&|\+|/)\s*(?:on\s+)?"
_AND_DAY = patterns.compile(rf"{_AND}{DAYNAME}")
_DAY_AND = patterns.compile(rf"\b{DAYNAME}{_AND}$")
_TRAINS = patterns.compile(
    r"(?<!to )(?<!can )(?<!'t )(?<!not )(?<!did )(?<!let's )\b"
    r"(?:train|rehearse|practi[cs]e|play|swim|run|work|teach|coach|volunteer|jog|cycle|row|sing|dance|climb|study|attend"
    r"|meet|go|do)(?:e?s)?\b[^.;!?]{0,40}$"
)
_EVEN = patterns.compile(r"\beven\s*$")
_HABITUALLY = patterns.compile(
    r"\b(?:always|usually|often|sometimes|normally|generally|typically|mostly|rarely|never|seldom|only ever)\b"
)
_ABOUT_ONE = patterns.compile(
    r"\b(?:will|won't|going to|gonna|next|this|coming|need|needs|have to|has to|must|should|remind|due|plan|plans"
    r"|planning|planned|booked|scheduled|starts?|ends?|begins|opens|closes|expires|leaves|arrives|launch\w*|ships?"
    r"|book|want"
    r"|wants|hope|hoping|until|till|before|by|since|move|moving|flying|leaving|starting|visiting|travel\w*|getting"
    r"|coming|having|\w+ is|\w+ are|it's|that's)\b|'ll\b"
)

# "A Saturday job" and "the Sunday paper" recur; "the Monday meeting is moved" is about one.
_RECURS = patterns.compile(
    r"\s(?:(?:morning|afternoon|evening|night) )?(?:jobs?|crosswords?|shifts?|class(?:es)?|leagues?|(?:news)?papers?"
    r"|roasts?|markets?|teams?|clubs?|schools?|choir|groups?|rota|routine|supplement|edition|column|football|times"
    r"|driver)\b"
)
_ONE_OF_THEM = patterns.compile(r"\b(?:on|this|next|last|coming|by|until|till|from|before|after|since)\s+$")


def names_what_recurs(low: str, start: int, end: int) -> bool:
    """Whether the weekday in low[start:end] is part of a name: "a Saturday job"."""
    return _RECURS.match(low, end) is not None and _ONE_OF_THEM.search(low, max(0, start - 8), start) is None


def is_past(low: str, at: int) -> bool:
    """Tense of the last verb before the date, else of the first verb after it."""
    start = max(0, at - 120)
    if any(told.search(low, start, at) for told in (_RESCHEDULED_TO, RESCHEDULED, _TO_BE_DONE, _WISHED, _ARRANGED_FOR)):
        return False
    cue = _cue(low, at)
    return cue is not None and cue["past"] is not None


def is_about_date(low: str, at: int) -> bool:
    """Whether the verb in the past tense before the date is about the date itself, which then lies before now."""
    if not (low.startswith("in ", at) or low.endswith("on ", 0, at)):
        return False
    found = _HAPPENED.search(low, max(0, at - 60), at)
    return found is not None and _ARRANGED.match(found["verb"]) is None


def _cue(low: str, at: int) -> patterns.Match | None:
    before = None
    for cue in _TENSE.finditer(low, max(0, at - 160), at):
        before = cue
    return before or _TENSE.search(low, at)


def _is_one_of_several(low: str, match: patterns.Match) -> bool:
    """Whether another weekday precedes or follows: "Tuesday and Thursday"."""
    return (
        _AND_DAY.match(low, match.end()) is not None
        or _DAY_AND.search(low, max(0, match.start() - 20), match.start()) is not None
    )


def is_habit(low: str, match: patterns.Match) -> bool:
    """ "Even in winter" and "we ski in winter" state what happens every year, "we train Tue and Thu" every week."""
    start = match.start()
    if match["wd"] is not None:
        return (
            _is_one_of_several(low, match)
            and _TRAINS.search(low, max(0, start - 60), start) is not None
            and (_ABOUT_ONE.search(low) is None)
        )
    if match["season"] is None and match["mon"] is None:
        return False
    if patterns.search(r"\b(?:this|last|next|since)\b|\d", match[0]):
        return False
    if _EVEN.search(low, max(0, start - 12), start):
        return True
    if is_past(low, start):
        return False
    if _HABITUALLY.search(low, max(0, start - 80), start) and not patterns.search(r"\b(?:will|going to)\b|'ll\b", low):
        return True
    return match["season"] is not None and _ABOUT_ONE.search(low) is None
