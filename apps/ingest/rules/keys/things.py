"""Keys about whatever else is stated of a thing: budgets, limits, bans, "X is Y"."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import Claim, Clause, amount_of, is_negated, search_in, signature
from apps.ingest.rules.lexicon import MOODS, PET, UNFINISHED_STATES, forms, listed
from apps.ingest.rules.subjects import Subject, is_name, slug
from text import patterns

_AMOUNT = (
    r"(?P<v>(?:about |around |roughly |up to |under |max |at |only )?[€$£]?\s?\d[\d.,]*\s?(?:k|m|mio|million"
    r"|thousand|bn)?\b\s?(?:euros?|eur|usd|dollars?|pounds?|gbp|chf|francs|€|\$|£|kr|yen|inr|rupees|pln)?)"
)
_BUDGET = patterns.compile(
    r"\b(?:(?P<of>[\w' -]{2,40}?) )?budget(?: for (?:the |our |my |this |a )?(?P<for>[\w' -]{2,40}?))?(?: is| was"
    r"| of|:|'s| has been| got| now| went| set| raised| cut| increased| reduced| lowered| changed| capped| limited"
    r"| stays| at| to| only| from [€$£]?[\d.,]+k?)+\s*" + _AMOUNT
)
_RATE_LIMIT = patterns.compile(
    r"\b(?P<v>\d[\d.,]*\s?(?:k)?)\s?(?:(?:req(?:uest)?s?|calls|queries|messages)\s?(?:/|per|a|an)|/|per)\s?(?P<u>s"
    r"|sec|second|m|min|minute|h|hour|day|d|month)\w*\b"
)
_UNITS = {"s": "s", "m": "min", "h": "h", "d": "day"}
_LIFTED = patterns.compile(
    r"\b(?:lifted|removed|dropped|relaxed|scrapped|revoked|ended|waived|withdrew|repealed|abolished|is over"
    r"|no longer (?:applies|in force)|allowed again|is gone|off the table|can .{1,40} again)\b"
)
_BAN_OF = patterns.compile(
    r"\b(?P<v>deploy|release|merg|push|alcohol|gluten|dairy|peanut|pork|meat|pet|smok|dog|meeting|call|overtime"
    r"|travel|flight|external api|third[- ]party|gpl|hiring|expense|contractor|caffeine|lactose|shellfish|nut|sugar"
    r"|salt|lifting|driv|running|screen|sublet|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend"
    r"|code freeze)"
)
_DAYS = listed("monday tuesday wednesday thursday friday saturday sunday weekend")
_RENAMED = {"merg": "merge", "smok": "smoking", "driv": "driving"}
_COPULA = patterns.compile(
    r"(?:'s|\s+(?:is|are|was changed to|changed to|will be|has been|stays|became|costs?|weighs|measures|equals"
    r"|(?:(?:was |has |got |been |is being |will be )*(?:moved|set|pushed(?: back)?|postponed|rescheduled|shifted"
    r"|delayed|slipped|raised|increased|reduced|lowered|cut|dropped|changed|extended|renamed|went(?: up| down)?"
    r"|goes(?: up| down)?|jumped|rose|fell|grew|switched|brought forward)(?: from [\w€$£., ]{1,20}?)? (?:to"
    r"|until))))\s+(?:now |currently |still |also |actually |always |only |just |called |set to |at |in |on |by "
    r"|with |from |going to be |officially |from now on )*(?P<v>[^\W_€$£+][^,;!?()\n]{0,80}"
    r"|[€$£+]\s?\d[^,;!?()\n]{0,60})"
)
_COLON = patterns.compile(r"\s*[:=]\s+(?P<v>[^\W_€$£+][^,;!?()\n]{0,80})")
_LENGTH = patterns.compile(r"\w+ (?:minutes|hours|days|weeks|months) long\b")
_USES = patterns.compile(
    r"\b(?P<verb>runs? on|is (?:hosted|deployed|running|stored|located|served|written|built|based|backed"
    r"|scheduled) (?:on|in|at|by|with|to)|uses?|depends on|talks to|reads? from|writes? to|deploys? to|is on|has"
    r"|have|returns?|takes?|sends?|expects?|accepts?|contains?|includes?|lasts|handles|serves|covers|renews|moved to"
    r"|migrated to|switched to|upgraded to|was upgraded to|requires|needs|supports|pinned to|locked to|targets?"
    r"|ships? (?:with|on|every)|expires?(?: on| in)?|launch(?:es)?|goes live|wiped|gets \w+ed|costs?|lives in"
    r"|sits in|holds|speaks|returns|listens on|closes|opens|starts|ends)\s+(?P<v>[^\W_][^,;!?()\n]{0,60})"
)
_LASTING_ATTRIBUTE = forms(
    "platform: runs on, run on, is hosted on, hosted on, is deployed on, is running on, is deployed to, deploys to,"
    " moved to, migrated to, switched to;"
    " uses: uses, use; version: upgraded to, was upgraded to, is on, pinned to, locked to;"
    " expiry: expires, expires on, expires in; cost: costs, cost; language: is written in, is built with"
)
_STATEY = patterns.compile(
    r"^(?:about to\b|due to\b)|^(?:(?:so|very|really|too|still|being|a bit|not|quite|super|all|just|always|pretty"
    r"|also)\s+)*(?:"
    + "|".join(sorted(map(patterns.escape, MOODS | UNFINISHED_STATES), key=len, reverse=True))
    + (
        r"|great|nice|awesome|terrible|awful|horrible|amazing|good|bad|wrong|right|weird|annoying|cute|funny|lovely"
        r"|boring|important|hard|easy|difficult|cool|beautiful|ugly|stupid|true|false|gone|missing|not \w+ing|\w+ing"
        r"|evil|better|worse|interesting|useless|useful|confusing|helpful|different|correct|clear|unclear|here|there)\b"
    )
)
_COLOURED = patterns.compile(r"favou?rite|colou?r")
_ATTRIBUTE_FIRST = patterns.compile(r"^(?P<a>[\w-]+(?: [\w-]+)?) (?:of|for) (?:the |my |our |this )?(?P<s>[\w' -]+)$")


def budget(clause: Clause) -> Iterator[Claim]:
    match = search_in(_BUDGET, clause)
    if match:
        of = patterns.sub(r"^.*\b(?:my|our|the|this|typo|sorry|so|and|btw|a|for)\b", "", match["of"] or "")
        what = slug(match["for"] or of) or "user"
        yield Claim(f"{what}.budget", amount_of(match["v"]))


def rate(clause: Clause) -> Iterator[Claim]:
    match = search_in(_RATE_LIMIT, clause)
    if match and patterns.search(r"limit|req|calls|quer|throttl|messages", clause.low[clause.start : clause.end]):
        named = clause.subject.attribute if clause.subject.key in ("", "user") else clause.subject.key
        subject = "_".join(word for word in named.split("_") if word not in ("rate", "limit", "of", "for"))
        unit = "month" if match["u"] == "month" else _UNITS[match["u"][0]]
        yield Claim(f"{subject or 'api'}.rate_limit", f"{amount_of(match['v'])}/{unit}")


_KEPT = listed(
    "child children kid kids son daughter grandchild grandchildren sister brother sibling chicken goat sheep cow bee"
    " hive ewe"
    " alpaca donkey duck car bike bicycle boat house flat shop branch bakery employee staff bedroom acre"
)
_SIZE = patterns.compile(
    r"\b(?:size|a) (?P<v>\d{1,3}(?:\.5|[.,]\d| 1/2)?|x*[sml]|small|medium|large) (?:in )?(?:my "
    r"|the )?(?P<n>[a-z]+(?: [a-z]+)?)\b"
    r"|\b(?P<n2>[a-z]+(?: [a-z]+)?)(?: size)? (?:is|are) (?:now |a )*(?:size )?(?P<v2>\d{1,3}(?:[.,]\d)?|x*[sml])\b"
)


def size(clause: Clause) -> Iterator[Claim]:
    """ "I wear size 42 climbing shoes", "my climbing shoes are size 41": one size of a garment at a time."""
    match = search_in(_SIZE, clause)
    if match and clause.subject.key == "user" and "size" in match[0]:
        worn = patterns.sub(r"^(?:my|our|the) ", "", match["n"] or match["n2"])
        if worn.split()[-1] not in ("now", "nowadays", "these", "days", "in", "and", "size"):
            yield Claim(f"{slug(worn)}.size", slug(match["v"] or match["v2"]), type="fact")


_COUNT = patterns.compile(
    r"\b(?:i|we)(?:'ve| have)?(?: now| only| also)? ?(?:have|got|own|keep)?(?: now| only)? (?P<v>no|one|two|three"
    r"|four|five|six|seven|eight"
    r"|nine|ten|twelve|a dozen|\d{1,4}) (?:\w+ )?(?P<n>"
    + "|".join(sorted(PET | _KEPT, key=len, reverse=True))
    + r")s?\b(?! (?:called|named|on|at|in|to|coming|visiting|sick))"
)


def count(clause: Clause) -> Iterator[Claim]:
    """ "I have two dogs", "we've got three dogs now": how many of a kind somebody has."""
    match = search_in(_COUNT, clause)
    if match and clause.subject.key in ("", "user"):
        yield Claim(f"user.{slug(match['n'])}.count", signature(match["v"]), type="fact")


def constraint_claim(low: str, start: int, end: int) -> Claim | None:
    """What is banned or allowed again: the same word in "no calls on Mondays" and in "the Monday rule is off"."""
    text = low[start:end]
    found = sorted({_RENAMED.get(m["v"], m["v"]).replace(" ", "_").replace("-", "_") for m in _BAN_OF.finditer(text)})
    if not found:
        rule = _RULE_ON.search(text)
        if rule is None:
            return None
        return Claim(f"{slug(rule['n'] or rule['n2'])}.rule", signature(text), type="constraint")
    lifted = _LIFTED.search(text) is not None
    things = [name for name in found if name not in _DAYS]
    day = "_".join(name for name in found if name in _DAYS)
    if not things and _MY_OWN.search(text):
        return Claim(f"user.work_ban.{day}", "lifted" if lifted else "banned", many_valued=True, type="constraint")
    if not things and not lifted and not _SHIPPING.search(text):
        return None
    name = "deploy" if not things or {"deploy", "release", "merge"} & set(things) else things[0]
    key = f"{name}.ban"
    return Claim(key, "lifted" if lifted else "_".join(filter(None, (day, "banned"))), type="constraint")


# "No visitors after 8", "visitors are allowed until 10": what holds for them now.
_RULE_ON = patterns.compile(
    r"^(?:\w+[,:] )?no (?P<n>[a-z]+s) (?:after|before|on|in|at|allowed|without|past|until|under)\b"
    r"|^(?:\w+[,:] )?(?:the )?(?P<n2>[a-z]+s) (?:are|may|can|must) (?:now |only |always )*(?:not )?(?:allowed"
    r"|permitted|banned|forbidden|ok|come"
    r"|enter|stay)\b"
)
_MY_OWN = patterns.compile(r"\bi(?:'m|'ve)?\b.{0,40}\bwork(?:ing)?\b|\bmy (?:working|work) days?\b")
_SHIPPING = patterns.compile(
    r"\b(?:ops|devops|sre|infra|releases?|prod(?:uction)?|ship\w*|freeze|roll ?outs?|merg\w+|go-?lives?)\b"
)
_SCHEDULE = patterns.compile(
    r"(?:every|each|(?:mon|tues|wednes|thurs|fri|satur|sun)days|\d{1,2}(?::\d\d)?(?: ?[ap]m)?(?=\s*(?:$|now|on|every"
    r"|each|sharp))"
    r"|\d{1,2}(?::\d\d| ?[ap]m)|noon|midnight|weekly|daily|monthly)\b"
)
_HAPPENS = patterns.compile(
    r"\s+(?:go(?:es)? out|happens?|takes? place|runs?|starts?|begins?|meets?|ends?|moved|changed|was moved|shifted)"
    r"(?: always| now| usually)*(?: (?:on|at|to|every|each|from))+ (?P<v>(?:every |each )?(?:(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)days?"
    r"|\d{1,2}(?::\d\d)?(?: ?[ap]m)?|noon|midnight)\b[^,;!?()\n]{0,40})"
)


def _breed_key(clause: Clause, match: patterns.Match) -> str | None:
    """ "My dog Biscuit is a whippet": a pet is of one breed; the name tells two dogs apart."""
    subject = clause.subject
    pet = subject.key.removeprefix("user.")
    if pet not in PET or subject.attribute or not _OF_A_KIND.match(match["v"]):
        return None
    if _PLACED.search(clause.low, match.start(), match.start("v")):
        return None
    name = _PET_NAME.search(clause.plain, clause.start, subject.after)
    return ".".join(filter(None, (subject.key, slug(name[0]) if name else "", "breed")))


_OF_A_KIND = patterns.compile(r"an? (?:[a-z-]+ ){0,2}[a-z-]+(?=\s*(?:$|[.,!;]|mix\b|cross\b|and\b|but\b))")
_PLACED = patterns.compile(r"\b(?:in|at|on|by|with|from|to)\s+\Z")
_PET_NAME = patterns.compile(r"(?<=\s)[A-Z][\w-]{1,24}\Z")


def _schedule_of(subject: Subject) -> str:
    named = subject.attribute if subject.key == "user" else subject.key
    return named.removesuffix("_time").removesuffix("_day") or "user"


def stated(clause: Clause) -> Iterator[Claim]:
    """The last resort: "my X is Y", "our X is Y", "X runs on Y"."""
    subject = clause.subject
    if not subject.key or (subject.key == "user" and not subject.attribute):
        return
    low = clause.low
    match = _COPULA.match(low, subject.after, clause.end) or _COLON.match(low, subject.after, clause.end)
    if match and (not _STATEY.match(match["v"]) or _COLOURED.search(subject.attribute or subject.key)):
        key = stated_key(subject)
        breed = _breed_key(clause, match)
        if breed:
            yield Claim(breed, signature(match["v"]), general=True)
            return
        if _LENGTH.search(match["v"]):
            key = f"{key.removeprefix('user.')}.length"
        elif _SCHEDULE.match(match["v"]) and key.rpartition(".")[2] not in _MEASURED:
            key = f"{_schedule_of(subject)}.schedule"
        held = _OUR_ONE.fullmatch(_NOWADAYS.sub("", match["v"]))
        if held and subject.is_person and subject.key != "user" and not subject.attribute:
            # "Petar is our goalkeeper now" says it as "our goalkeeper is Petar" does.
            yield Claim(
                f"user.{slug(held['n'])}",
                signature(subject.key.replace("_", " ")),
                general=True,
                type=_role_type(held["n"]),
            )
            return
        loose = not _holds_slot(subject, match["v"], key, colon=match.re is _COLON) and not (
            subject.whose in ("the", "my", "our") and _CORRECTING.match(low, 0, clause.start + 1)
        )
        value = _NOWADAYS.sub("", match["v"]).strip()
        at = match.start("v")
        person = len(value.split()) <= 2 and is_name(clause.plain, at, at + len(value))
        ours = person and subject.whose in ("my", "our") and (subject.key == "user" or not subject.attribute)
        named = _role_type((subject.attribute or subject.key).replace("_", " ")) if ours else None
        yield Claim(key, signature(value), general=True, loose=loose, type=named)
        return
    when = _HAPPENS.match(low, subject.after, clause.end)
    if when:
        loose = not _is_thing(subject)
        yield Claim(f"{_schedule_of(subject)}.schedule", signature(when["v"]), general=True, loose=loose)
        return
    if match is None and not subject.is_person:
        used = _USES.search(low, subject.after, min(clause.end, subject.after + 60))
        if used and not is_negated(clause, used.start()):
            attribute = _LASTING_ATTRIBUTE.get(patterns.sub(r"\s+", " ", used["verb"]), slug(used["verb"]))
            loose = not (attribute in _REPLACED or attribute.startswith("get_")) or not _is_thing(subject)
            yield Claim(f"{subject.key}.{attribute}", signature(used["v"]), general=True, loose=loose)


# Who does something for a living or for somebody, told by the ending: "our goalkeeper", "my shepherding partner".
_AGENT = patterns.compile(
    r"(?:[\w-]+ ){0,2}(?:[a-z]{3,}(?:er|or|ist|ian|mate|man|woman|eer)|partner|agent|boss|nan|pal|rep|host|prior|chef"
    r"|guide|nurse|coach)"
)
_NO_AGENT = listed(
    "computer laptop printer router server number owner counter charger freezer dishwasher toaster mower trailer"
    " container cover"
    " filter heater boiler timer folder letter paper order offer layer driver compiler linter browser editor player"
    " water dinner"
    " supper weather summer winter october november december september master color colour motor tractor monitor"
    " mirror door floor"
    " error vector factor sector interior exterior tutor minor major shower answer quarter center centre meter"
    " finger shoulder list"
    " playlist wishlist checklist waist twist calendar register cooker scooter newsletter helicopter drawer locker"
    " cluster burger"
)


def _role_type(noun: str) -> str | None:
    return "relation" if _AGENT.fullmatch(noun) and noun.split()[-1] not in _NO_AGENT else None


_OUR_ONE = patterns.compile(r"(?:now )?(?:my|our) (?:new )?(?P<n>[a-z][a-z-]{2,20}(?: [a-z-]{2,20})?)[.!\s]*")
# "Actually no, the kiln is a Skutt" speaks of what was said before.
_CORRECTING = patterns.compile(r"(?:actually,? no|no,? wait|wait,? no|correction|sorry|oops|i meant|my mistake|typo)\b")
_ATTRIBUTES = listed(
    "budget deadline owner region version limit size address name number schedule time date day launch release"
    " colour color price cost rent salary password plan status stack database db port url repo branch language"
    " framework target goal window timezone provider host address model brand type level height weight age speed"
    " capacity quota timeout retention cadence format location place venue room floor team lead manager contact"
    " email phone theme code key diet allergy frequency length duration rate standup retro review indentation"
    " interval domain fee bill wage premium toll deposit width depth temperature headcount dose dosage surcharge"
    " discount"
)


_NOWADAYS = patterns.compile(
    r"(?:,?\s+(?:these days|nowadays|at the moment|at present|for now|by now|right now|lately|of late|again|any ?more"
    r"|as of (?:today|now)|this time|now|today))+[.!\s]*$"
)
_REPLACED = listed(
    "platform version expiry cost language runs_on is_scheduled_at lasts renews launches goes_live wiped"
)
_NO_THING = listed(
    "i me my you your he him she her it we us they them this that these those there here who whom whose which what when"
    " where why how if once even so some any no none many much more most few all both each every either neither other"
    " others everyone everybody someone somebody anyone anybody nobody everything something anything nothing one ones"
    " and or but because since while although though as than then also just only still yet too very really not never"
    " always often sometimes maybe perhaps is are was were be been being am do does did done have has had can could"
    " will would shall should may might must let lets glad sorry thanks thank cant wont dont got get gets getting go"
    " goes went make makes made take takes see seeing sure yeah yes wow const let var def return true false null none"
    " self life love people time times day days way ways thing things stuff lot lots bit kind sort part point fact"
    " truth idea word words world moment moments today tomorrow yesterday now other another such own"
)
_NO_SLOT = listed(
    "advice dream goal aim hope faith love life journey idea intention plan purpose wish thought opinion view feeling"
    " point question problem issue concern worry challenge guess bet heart mind soul family friend effort work progress"
    " experience memory joy passion motivation inspiration reason excuse thing stuff way answer understanding approach"
    " focus attempt solution code function result output method advantage fear regret luck fault turn mistake support"
    " favourite favorite fam pic picture photo dream strength courage attitude energy day night weekend week month year"
    " time moment"
)
_ING_THINGS = listed(
    "meeting building training wedding standing staging mailing rating king ring string spring ceiling evening morning"
    " painting drawing parking billing housing heating pricing onboarding thing clothing bearing"
)
# What is said of a thing without filling a slot of it: an opinion, a purpose, a comparison.
_VAGUE = patterns.compile(
    r"(?:(?:now|still|also|actually|always|only|just)\s+)*"
    r"(?:(?:been|really|so|such|pretty|quite|too|very|super|absolutely|truly|incredibly|simply|definitely)\s|"
    r"(?:a|an|the|my|our|such)\s+(?:[\w-]+\s+){0,2}(?:way|ways|part|lot|bit|thing|things|reason|idea|mix|mixture"
    r"|privilege|pleasure|joy|honou?r|blast|mess|nightmare|dream|gift|blessing|reminder|opportunity|experience|place"
    r"|must|challenge|priority|success|disaster|best|worst|most|key|one|same|whole)\b"
    r"|to\s|about\s|for\s|like\s|with\s|going\s|gonna|because|that\s|what\s|why\s|how\s|where\s|when\s|part of|one of"
    r"|all\s|not\b|never|more\s|less\s|most\s|as\s|up\b|over\b|done\b|here\b|there\b|key\b|made\b|worth\b|properly"
    r"|tough|fun|hard|scary|crucial|vital|essential|valuable|special|necessary|inevitable|inspiring|perfect|proud|happy"
    r"|glad|vivid|huge|tiny|big|small|fast|slow|rich|poor|sweet|kind|smart|strong|weak|tight|insane|crazy|adorable"
    r"|fantastic|epic|legendary|iconic|magic|magical|dope|sick|rad|neat|fine|okay|ok|able|ready|close|near|far|full"
    r"|[a-z]{3,}(?:ful|ous|able|ible|less|iest|tic|ive|ing)\b(?!\s+[a-z]+\s*(?:$|[.,])))"
)


def _is_thing(subject: Subject) -> bool:
    """The subject names a thing: no pronoun, no clause, no activity ("losing a pet"), no name out of code."""
    phrase = subject.attribute if subject.key == "user" or subject.attribute else subject.key
    words = phrase.removeprefix("user.").split("_")
    if not all(words) or len(words) > 4 or any(word in _NO_THING or word.isdigit() for word in words):
        return False
    if subject.whose in ("your", "his", "her", "their", "its", "a", "an", "all", "each", "every", "both"):
        return False
    owned = subject.whose in ("my", "our")
    return not any(
        w.endswith("ing") and len(w) > 4 and w not in _ING_THINGS for w in words[: None if not owned else 1]
    ) or (owned and len(words) > 1)


def _holds_slot(subject: Subject, value: str, key: str, *, colon: bool) -> bool:
    """Whether "X is Y" names a lasting property, which the next "X is Z" replaces.

    It must be a thing somebody owns ("my gym", "Olga's car"), or an attribute that is known to have one value. A wrong
    slot lets one statement push out another that has nothing to do with it.
    """
    if not _is_thing(subject) or _VAGUE.match(value):
        return False
    phrase = (subject.attribute or subject.key).removeprefix("user.")
    head = phrase.rpartition("_")[2]
    known = head in _ATTRIBUTES or key.endswith((".schedule", ".length")) or _ATTRIBUTE_OF.match(phrase) is not None
    if head in _NO_SLOT and not any(c.isdigit() for c in value):
        return False
    if subject.attribute:
        return subject.key != "user" or subject.whose in ("my", "our", "new") or known
    if subject.whose in ("my", "our"):
        return not subject.is_person
    if subject.is_person or not known:
        return False
    return bool(subject.whose) or colon or "_" in phrase or any(c.isdigit() for c in value)


_ATTRIBUTE_OF = patterns.compile(rf"(?:\w+_)?(?:{'|'.join(sorted(_ATTRIBUTES))})_(?:of|for)_")


_MEASURED = _ATTRIBUTES - listed("schedule time window cadence standup retro review frequency date day launch release")


def stated_key(subject: Subject) -> str:
    """One key for "my gym", "our gym", "the gym" and "gym": in a turn they are the same gym."""
    if subject.attribute and subject.key != "user":
        return f"{subject.key}.{subject.attribute}"
    phrase = (subject.attribute or subject.key.removeprefix("user.")).replace("favorite", "favourite")
    of = patterns.match(r"(?P<a>[a-z0-9]+(?:_[a-z0-9]+)?)_(?:of|for)_(?P<s>\w+)$", phrase)
    if of:
        return f"{of['s']}.{of['a']}"
    head, _, tail = phrase.rpartition("_")
    return f"{head}.{tail}" if head and tail in _ATTRIBUTES else f"user.{phrase}"
