"""Slots with one value each: a pattern whose group ``v`` (or ``w``) is the value."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from text import patterns
from text.extraction.entities.tables import PLACES
from text.extraction.lexicon import COMPANIES, COMPANY_ENDING, DIETS, OCCUPATIONS, PRODUCTS, any_of, listed, words
from text.extraction.slots.clause import END, NAME, NUMBER, OVER, PERSON, SO, Claim, Clause, Reader, amount, asserts
from text.extraction.subjects import slug

_W: Final = "?P<w>"


class _Slot(NamedTuple):
    """key: with ``{}`` for the subject.  over: pattern for the end of the fact.  is_fit: checks a value."""

    key: str
    pattern: str
    value: Callable[[str], str] = slug
    over: str | None = None
    is_fit: Callable[[Clause, patterns.Match, str], bool] | None = None
    type: str = "fact"


def _other(pattern: str) -> str:
    """The pattern with group ``w`` for its value, for a second alternative in one pattern."""
    return pattern.replace("?P<v>", _W)


_NO_NAMES: Final = listed(
    "home night nights weekends me him her them it this that the a an my our his her their us you school work uni"
    " university college hospital office production prod staging order general time life town bed peace love charge"
    " monday tuesday wednesday thursday friday saturday sunday january february march april may june july august"
    " september october november december meeting cash tomorrow today with not data sales marketing touch case fact"
    " someone people kids no one two three four five six seven eight nine ten good great fine myself himself herself"
    " fear hope chaos denial luxury poverty harmony sin squalor exile style halls dorm dorms flat house student"
    " sheltered"
    " assisted suburbia city village countryside retirement hr it qa ops finance engineering legal support product"
    " design"
    " business plan tier phase stage year grade free fun peanuts charity exposure money food pleasure height heights"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays noon midnight lunch present least last first"
)
_NO_EMPLOYER: Final = (
    " team",
    " gym",
    " club",
    " choir",
    " band",
    " board",
    " committee",
    " class",
    " course",
    " party",
    " church",
    " desk",
    " branch",
)
# Services that one moves to but does not live in.
_NO_TOWN: Final = words(
    "todoist, ticktick, hetzner, fastmail, kubernetes, docker, terraform, graphql, kanban, scrum, evernote, dropbox,"
    " aws, gcp, postgres, vaultwarden, immich, fish, sway, mullvad, claude, chatgpt, gemini, copilot, bluesky,"
    " mastodon, agile, okta, hubspot, salesforce, zendesk, intercom, pagerduty, datadog, sentry, grafana, prometheus,"
    " airtable, miro, teams, sharepoint, confluence, workday, xero, quickbooks, sage, squarespace, wordpress,"
    " webflow, wix, vite, webpack, polars, spark, airflow, dagster, dbt, fivetran, looker, tableau, pulumi, ansible,"
    " nomad, vault, bazel, gradle, maven, elasticsearch, opensearch, algolia, supabase, firebase, neon, zoho, odoo,"
    " paperless, nextcloud, octopus, british gas, sky, virgin, loom, coda, retool, stripe, playwright, cypress, jest,"
    " storybook"
)
# Companies that one can join, quit or start at without being employed there.
_SITES: Final = words(
    "facebook, linkedin, twitter, tiktok, reddit, github, gitlab, pinterest, slack, netflix, spotify, dropbox, amazon,"
    " paypal, revolut, monzo, n26, klarna, booking, airbnb, uber, lyft, zoom, notion, figma, canva, meta, zara, bt,"
    " vodafone, telekom, orange, telefonica, santander, barclays, hsbc, ing, visa, mastercard, shell, google, apple"
)
_TRADE: Final = any_of(OCCUPATIONS - {"retired", "unemployed", "self-employed", "hr", "head", "chair"})
_IDLE: Final = "retired|unemployed|self-employed"
_NO_TRADE: Final = listed(
    "my our his her their your the good bad great terrible awful decent keen slow fast big real true total natural born"
    " worst best better complete of to for in with at on by from as and or using like called named every hobby amateur"
    " backseat control drama designated aspiring wannabe would-be future not told afraid married engaged teaching"
)
_FIELDS: Final = words(
    "law, medicine, nursing, pharmacy, dentistry, biology, chemistry, physics, maths, mathematics, statistics,"
    " economics,"
    " business, accounting, finance, marketing, management, engineering, computer science, software engineering,"
    " informatics, architecture, design, art, arts, fine arts, art history, history, philosophy, psychology, sociology,"
    " anthropology, politics, political science, theology, geography, geology, linguistics, literature, english"
    " literature, journalism, education, music, film, drama, theatre, veterinary medicine, agriculture, forestry,"
    " astronomy, biochemistry, biotechnology, neuroscience, data science, environmental science, marine biology,"
    " mechanical engineering, electrical engineering, civil engineering, social work, osteopathy, physiotherapy,"
    " classics, international relations, criminology, optics, botany, zoology, archaeology, musicology, translation"
)
_SCHOOL: Final = (
    r"(?:school|college|university|uni|academy|kindergarten|nursery|institute|gymnasium|high|primary|secondary)"
)
_PAY: Final = r"(?: ?(?:euros?|eur|€|dollars?|usd|pounds?|gbp|kr|kronor|francs?))?"
# What may follow a state: "vegan", but not "vegan on Mondays" or "single-minded".
_STATE_ENDS: Final = (
    r"(?=\s*(?:$|[,.;:!?()\"])|\s+(?:and|but|now|since|for|because|so|these|who|btw|again|to|too|though|as|this|last"
    r"|lol|currently|after|until|in (?:\d{4}"
    r"|spring|summer|autumn|winter|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*))\b)"
)
_FOR_A_WHILE: Final = patterns.compile(
    r"\b(?:until|till|temporarily|tonight|at the moment|for (?:now|the|a|two|three|six) ?(?:week|month|summer|winter"
    r"|season|weekend|while|few|couple)?|this (?:week|weekend|month|summer)|over the (?:summer|winter|holidays"
    r"|weekend))\b"
)
# "You never, ever, call me Luke."
_FORBIDDEN: Final = patterns.compile(r"\b(?:never|not|don't)\b[^.!?\n]*$")
# "I have lived there since 1989", but not "I have lived in Leeds and in York".
_LIVED: Final = r"(?:(?:have|has|'ve|'s)(?: both| all)?(?: always| now)?|(?<=\bive)) lived"
_SO_LONG: Final = (
    r"(?=,? (?:ever )?since\b"
    r"|,? for (?:(?!(?:years?|months?|decades?|ages|life)\b)[\w-]+ ){0,4}(?:years?|months?|decades?|ages|life)\b"
    r"|,? (?:all|(?:my|our|his|her) (?:whole|entire)) (?:(?:my|our|his|her) )?life\b)"
)
# "We moved to BigQuery", "we moved to Acuity for bookings".
_CAMEL: Final = patterns.compile(r"[a-z][A-Z]|\.")
_AS_TOOL: Final = patterns.compile(r"\s+(?:instead\b|over\b|as\b|for\s+(?!(?:work|good|my|his|her|our|uni|school)\b))")
_ROOMS: Final = r"(?:flat|house|apartment|room|place|home|studio|cottage|bungalow)"
_AND_MOVED: Final = patterns.compile(r",?\s*(?:and|so)\s+(?:(?:we|i)\s+)?(?:have\s+)?moved\b(?!\s+out\b)")
_STREET: Final = (
    r"\d{1,5}[a-z]?,? (?:[\w'.-]+ ){1,4}?(?:street|st|road|rd|lane|avenue|ave|close|drive|crescent|terrace|square"
    r"|grove|court|place|row|gardens|hill|mews|way|boulevard)\.?"
)
_SENTENCE: Final = 80
_JOB: Final = r"(?:a (?:new )?|my (?:new )?|the )?(?:job|role|position|work|working)"


def _is_place(clause: Clause, match: patterns.Match, group: str) -> bool:
    value = match[group]
    is_firm = value in COMPANIES or value.endswith(COMPANY_ENDING) or any(c.isdigit() for c in value)
    if is_firm or "'s " in value:
        return False
    if match[0].startswith(("found", "bought", "rented", "got")) and not _AND_MOVED.match(clause.low, clause.end):
        return False
    is_long = " lived" in match[0]
    if not is_long and _FOR_A_WHILE.search(clause.low, match.end(), clause.end):
        return False
    if not _is_proper(clause, match, group, also_small=is_long or match[0].startswith("li")):
        return False
    if not match[0].startswith("moved") or value in PLACES or match[0].startswith(("moved house", "moved home")):
        return True
    name, tools = clause.plain[slice(*match.span(group))], PRODUCTS | _NO_TOWN
    if name.isupper() or value in tools or value.split()[0] in tools:
        return False
    is_ours = clause.low.startswith("we", match.start() - 3)
    return not is_ours or not (_CAMEL.search(name) or _AS_TOOL.match(clause.low, match.end(), clause.end))


def _is_employer(clause: Clause, match: patterns.Match, group: str) -> bool:
    value = match[group]
    if value.endswith(_NO_EMPLOYER) or value.split()[0] in _NO_NAMES:
        return False
    if patterns.match(r"join|start", match[0]) and not patterns.search(rf"\b{_JOB}\b", match[0]):
        is_as = patterns.match(r"\s+as\b", clause.low[match.end() : clause.end]) is not None
        return (is_as and clause.is_named(match, group)) or value in COMPANIES - _SITES
    return clause.is_named(match, group, also_small=not patterns.match(OVER, match[0]))


def _is_proper(clause: Clause, match: patterns.Match, group: str, *, also_small: bool = False) -> bool:
    return match[group].split()[0] not in _NO_NAMES and clause.is_named(match, group, also_small=also_small)


def _is_called(clause: Clause, match: patterns.Match, group: str) -> bool:
    if _FORBIDDEN.search(clause.low, max(0, clause.start - _SENTENCE), clause.start):
        return False
    is_lasting = "from now on" in clause.low[clause.start : clause.end]
    return _is_proper(clause, match, group, also_small=is_lasting)


def _is_age(clause: Clause, match: patterns.Match, group: str) -> bool:
    """Whether it is an age.  Without "years" only for persons: not "the extension is 41"."""
    who, said = clause.who or "", patterns.search(r"year|yr|y/o|yo\b|turned|age", match[0])
    is_person = who.startswith("user.") or who == "user" or clause.low.startswith(("he", "she"), clause.start)
    return (is_person or said is not None) and (10 if who == "user" else 0) <= int(match[group]) < 120


def _is_trade(clause: Clause, match: patterns.Match, group: str) -> bool:
    """Whether it is an occupation: not "Ingrid is my manager" (a relationship) or "a good cook"."""
    before = match[group].split()[:-1]
    return not _NO_TRADE & set(before) and not any(word.endswith("ing") for word in before)


def _is_school(clause: Clause, match: patterns.Match, group: str) -> bool:
    return " " in match[group] and clause.is_named(match, group)


def _is_wanted(clause: Clause, match: patterns.Match, group: str) -> bool:
    """Whether it is a choice of the user, or an order."""
    return clause.who in (None, "user")


_SLOTS: Final = (
    _Slot(
        "user.preferred_name",
        rf"\b(?:from now on,? )?(?:you can |kindly |do |please )?(?:always )?call me(?: just| simply)? {PERSON}{END}",
        is_fit=_is_called,
        type="instruction",
    ),
    _Slot(
        "user.name",
        rf"\bmy (?:full |real )?name(?: is|'s){SO} {PERSON}{END}|\bi(?:'m| am) called {_other(PERSON)}{END}",
        is_fit=_is_proper,
    ),
    _Slot(
        "{}.email",
        r"\be?-?mail(?: address)?(?: is|:|'s)?" + SO + r" ?(?P<v>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})",
        value=str,
    ),
    _Slot(
        "{}.phone_number",
        r"\b(?:(?:phone|mobile|cell|landline|whatsapp|telephone)(?: phone)?(?: number)?|number|(?:call"
        r"|reach) me (?:at|on))"
        rf"(?: is| changed to|:)?{SO} ?(?P<v>\+?\d[\d ()/.-]{{5,20}}\d)",
        value=lambda said: patterns.sub(r"[^\d+]", "", said),
    ),
    _Slot(
        "{}.timezone",
        rf"\b(?:time ?zone|tz)(?: is|:|'s){SO} (?P<v>[\w/+:-]{{2,30}})"
        r"|\b(?:i'?m|i am|live|work|based) (?:in|on) (?P<w>(?:utc|gmt)(?:[+-]\d{1,2}(?::\d\d)?)?|cet|cest|est|edt"
        r"|pst|pdt"
        r"|cst|mst|ist|jst|bst|aest|eet)\b",
    ),
    _Slot(
        "{}.age",
        r"(?:\b(?:i'm|im|i am|is|turned|aged?:?)|'s)(?: now| just| is){0,2} (?P<v>\d{1,3})"
        r"(?: ?(?:years?|yrs?|yo|y/o)(?:[- ]old)?)?"
        r"(?=\s*(?:$|[,;!)]|\.(?!\d))|\s(?:now|today|and|last|in [a-z]|this|yesterday)\b)(?![.,]\d)(?! and a half)",
        is_fit=_is_age,
    ),
    _Slot(
        "{}.location",
        rf"\b(?:(?:moved|relocated|emigrated){SO}(?: house| home| away| out){{0,2}}(?: with [\w' -]{{2,30}}?)?"
        rf"(?: from [\w' .-]{{2,40}}?)? to"
        rf"|settled(?: down)? in|(?:lives?|living|resides?|residing|based){SO} in|home(?: is)?{SO} in"
        rf"|(?:found|bought|rented|got) (?:an?|the|our) (?:[a-z-]+ ){{0,2}}{_ROOMS} in"
        rf"|(?:home )?address(?: is|:|'s){SO} {_STREET},)"
        rf" (?:the (?:city|town|suburbs|outskirts|centre|center) of |downtown |central )?{NAME}{END}"
        rf"|(?:\b|(?='))(?:{_LIVED}{SO} in {_other(NAME)}{_SO_LONG})",
        over=rf"\b(?:(?:no longer|don't|doesn't) lives? in|moved (?:away |out )?(?:from|out of)) {NAME}{END}",
        is_fit=_is_place,
    ),
    _Slot(
        "{}.employer",
        rf"\b(?:(?:works?|working|teach(?:es)?|teaching|driv(?:es?|ing)|nurs(?:es?|ing)){SO} (?:at|for)"
        rf"|employed (?:at|by)"
        rf"|joined|hired by|started{SO} (?:at|working (?:at|for)|{_JOB} (?:at|with))|job (?:is )?(?:at|with)"
        rf"|employer(?: is|:){SO}|switched jobs to|(?:works?|working) as an? (?:[a-z-]+ ){{0,3}}?{_TRADE}{SO} (?:at"
        rf"|for)|(?:i'?m|i am|is|'s|became) an? (?:[a-z-]+ ){{0,3}}?{_TRADE}(?<!student){SO} (?:at"
        rf"|for)) (?:the )?(?!an? ){NAME}{END}",
        over=rf"\b(?:{OVER} (?:my job at |work(?:ing)? (?:at|for) |employed (?:at|by) |at |with )|(?:left|quit"
        rf"|resigned from"
        rf"|laid off (?:from|by)|fired (?:from|by)) )(?:the |a )?{NAME}{END}",
        is_fit=_is_employer,
    ),
    _Slot(
        "{}.role",
        rf"(?:\b(?:(?:works?|working|started|retrained|qualified){SO} as|(?:job(?: title)?|role|title"
        rf"|profession)(?: is|:)"
        rf"|became|i'?m|i am|is)|'s){SO} an? (?P<v>(?:[\w+#/&-]+ ){{0,3}}?{_TRADE})\b(?!['-])(?! of\b){END}"
        rf"|\b(?:promoted to|(?:job(?: title)?|title|profession)(?: is"
        rf"|:)) {_other('(?P<v>(?:[a-z+#/&-]+ ){0,3}?' + _TRADE)})"
        rf"\b(?!['-]){END}|(?:\b(?:i'?m|i am|is)|'s){SO} (?P<x>{_IDLE}){_STATE_ENDS}",
        is_fit=_is_trade,
    ),
    _Slot(
        "{}.weight",
        rf"\b(?:weighs?|weight is){SO} (?P<v>\d{{2,3}}(?:[.,]\d)?) ?(?:kg|kilos?|lbs?|pounds)\b{_STATE_ENDS}",
    ),
    _Slot(
        "{}.salary",
        rf"\b(?:(?:earns?|gets? paid){SO} {NUMBER}{_PAY} (?:(?:a|per|the|an) (?:hour|day|week|month|year)|net|gross"
        rf"|before"
        rf" tax)\b|salary is{SO} {_other(NUMBER)})",
        value=amount,
    ),
    _Slot(
        "user.rent",
        rf"\b(?:(?:my|our|the) )?rent (?:is|costs|went up to|rose to|fell to){SO} {NUMBER}{_PAY}"
        rf"(?: (?:a|per) (?:week|month))?|\bpay{SO} {_other(NUMBER)}{_PAY}"
        r"(?: (?:a|per) (?:week|month))? (?:in|of|for)(?: my| our)? rent\b",
        value=amount,
        is_fit=_is_wanted,
    ),
    _Slot(
        "user.budget",
        rf"\b(?:my|our)(?: monthly| weekly)? budget(?: is|:|'s){SO}(?: about| up to)? {NUMBER}{_PAY}(?! (?:for"
        rf"|a head)\b)",
        value=amount,
    ),
    _Slot(
        "{}.relationship_status",
        rf"(?:\b(?:i'm|im|i am|we're|we are|is|are|been|got)|'s){SO} (?:happily |newly |recently )?(?P<v>single|married"
        rf"|engaged|divorced|separated|widowed){_STATE_ENDS}(?! to (?:my|his|her|the)\b)",
    ),
    _Slot(
        "{}.school",
        rf"\b(?:(?:goes to|go to|attends?|enrolled (?:at|in)){SO} (?:the )?(?P<v>(?:[\w'.-]+ ){{1,4}}?{_SCHOOL}){END}"
        rf"|stud(?:y|ies|ying){SO}(?: [a-z]+){{0,2}} at (?:the )?{_other(NAME)}{END})",
        is_fit=_is_school,
    ),
    _Slot("{}.studies", rf"\b(?:stud(?:y|ies|ying)|major(?:ing)? (?:in|is)){SO} (?P<v>{any_of(_FIELDS)}){END}"),
    _Slot(
        "{}.diet",
        rf"(?:\b(?:i'?m|i am|is|am|went|turned|became|eats?|back to|now|follows?|diet(?: is|:))|'s){SO}"
        rf"(?: an?| strictly| strict| mostly| eating| being){{0,2}} (?P<v>{any_of(DIETS)}){_STATE_ENDS}",
        value=lambda said: DIETS[said],
        over=rf"\b(?:no longer|not|stopped being|gave up being)(?: an?)?{SO} (?P<v>{any_of(DIETS)})\b",
    ),
    _Slot(
        "ui.theme",
        r"\b(?:(?:prefer|use|using|like|want|switched to|switched back to|switch to|enable|on|back to)(?: the| a)? )?"
        r"(?P<v>dark|light|high[- ]contrast|solarized)[ -](?:mode|theme|ui)\b"
        r"(?: (?:please|everywhere|always|again|now|best|only|(?:in|on) (?:my|all|every|the) \w+)\b)*(?=\s*(?:$"
        r"|[,.;!]))",
        is_fit=_is_wanted,
        type="preference",
    ),
    _Slot(
        "editor.indentation",
        r"\b(?:prefer|use|using|indent with|switched to) (?P<v>(?:\d|two|four|eight)[ -]spaces?|spaces|tabs)\b"
        r"(?: (?:over (?:spaces|tabs)|for indent\w*|please|now|everywhere|instead|again)\b)*(?=\s*(?:$|[,.;!]|not\b"
        r"|in\b))",
        is_fit=_is_wanted,
        type="preference",
    ),
    _Slot(
        "travel.seat",
        r"\b(?:prefer|want|like|book|always)(?: me)?(?: the| an?)? (?:(?P<v>aisle|window) seats?|(?P<w>aisle))\b"
        r"(?=\s*(?:$|[,.;!])|\s(?:please|on|over|always|whenever|for|now|because)\b)",
        is_fit=_is_wanted,
        type="preference",
    ),
)  # fmt: skip


def _reader(slot: _Slot) -> Reader:
    pattern, over = patterns.compile(slot.pattern), patterns.compile(slot.over) if slot.over else None

    def found(clause: Clause, at: patterns.Match) -> str:
        """The group with the value; empty if there is none or it does not fit."""
        group = next((name for name in at.re.groupindex if at[name] is not None), "")
        return group if slot.is_fit is None or slot.is_fit(clause, at, group) else ""

    def read(clause: Clause) -> Iterator[Claim]:
        if clause.who is None and slot.key.startswith("{}"):
            return
        key = slot.key.format(clause.who)
        match = clause.says(pattern)
        if match is not None and asserts(clause) and (group := found(clause, match)):
            yield Claim(key, slot.value(match[group]), clause.start, match.end(), type=slot.type)
            return
        left = clause.says(over) if over is not None else None
        if left is not None and asserts(clause, also_untrue=True) and (group := found(clause, left)):
            yield Claim(key, slot.value(left[group]), clause.start, left.end(), is_over=True)

    return read


READERS: Final = tuple(map(_reader, _SLOTS))
