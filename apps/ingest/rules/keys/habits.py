"""Keys about tastes, habits and plans."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import (
    STOP,
    Claim,
    Clause,
    any_of,
    is_aside,
    is_negated,
    person_of,
    search_in,
    signature,
)
from apps.ingest.rules.lexicon import THINGS, listed
from apps.ingest.rules.subjects import slug
from apps.memories.dates import SEASONS
from text import patterns

_TASTE = patterns.compile(
    r"\b(?P<verb>(?:really |absolutely |totally |just |still |also |both |actually |now |never |do |always )*(?:love"
    r"|loves|like|likes|adore|adores|enjoy|enjoys|hate|hates|dislike|dislikes|loathe|loathes|detest|detests|despise"
    r"|despises|can'?t stand|cannot stand|can'?t bear|(?:don'?t|doesn'?t|do not|does not|didn'?t) (?:really "
    r"|particularly |actually )?(?:like|enjoy|love|care for)|(?:not (?:really |exactly |much of )?)?(?:a "
    r"|the )?(?:big |huge |massive |great )?fan of|(?:'m|am|is|are|'re|been|really|not|so|totally|super|very"
    r"|im) (?:not |really |so |totally )*(?:into|keen on|fond of|crazy about"
    r"|obsessed with)|sick of|fed up with)) (?:the (?:taste|smell|sound) of |eating |drinking |any |all |my |the |a "
    r"|an )*"
    r"(?P<v>[a-z][\w' -]{1,40}?)(?=\s*(?:$|[,.;:!?()\"]|-\s)|\s+(?:and|but|as|since|for|with|in|on|at|from|because"
    r"|so|now|btw|any|these|who|which|when|after|before|again|instead|to|too|that|if|though|although|while|than|lol"
    r"|tbh|more|most|over|especially|best|either|even|unless|except|they|it|he|she|i|we|is|are)\b)"
)
_DISLIKE = patterns.compile(r"hate|dislike|loathe|detest|despise|can'?t|cannot|n'?t\b|\bnot?\b|sick|fed up|never")
_NO_TASTE = listed(
    "it that this them him her you me to us those these one how what when the being having doing going idea way"
    " sound look work job people things stuff fact thought"
)
# "Sounds like …", "something like …", "the love and support": no verb of liking.
_NO_LIKING = patterns.compile(
    r"(?:^|[,;:(-]\s*|\b(?:looks?|sounds?|feels?|felt|seems?|smells?|tastes?|looked|sounded|looking|feeling|acts?"
    r"|just|is"
    r"|are|was|were|be|been|it's|that's|they're|'s|something|anything|things?|stuff|ones?|more|much|the|my|your|our"
    r"|his|her"
    r"|their|its|this|that|of|with|and|for|in|some|any|by|from|such|what|whats|cases|problems|questions|scenarios"
    r"|topics"
    r"|[a-z]{4,}(?:ing|tion|ment|ness)s?))\s*$"
)
_LIKES = patterns.compile(
    r"\b(?:i|we|you|they|who|do|to|people|both|all|kids|parents|also|still|always|really|never|only|and|but)\s*$"
)
_ALSO_NOUNS = ("like", "love", "likes", "loves")
_CLAUSE_AS_OBJECT = patterns.compile(
    r"^(?:in|and|for|of|with|or|on|at|by|everywhere)\b|"
    r"\b(?:i|you|we|they|he|she|it|everyone|is|was|were|been|has|have|had|are|your|you're)\b"
)
_SMOKES = patterns.compile(
    r"\b(?:i|we|he|she|wife|husband|partner|dad|mum|mom|brother|sister|still|also|and) (?:still |also |now |only "
    r"|used to |never |don'?t |doesn'?t |no longer )*(?P<v>smokes?|vapes?)\b|\b(?P<q>(?:quit|stopped|gave up"
    r"|given up) (?:smoking|cigarettes|vaping))\b|\b(?P<n>non-?smoker)\b|\b(?P<s>smoker)\b"
)
_PLAN = patterns.compile(
    r"\b(?:on|to|have|has|got|chose|bought|using|with) (?:the |a |an |your |their )?(?P<v>free|basic|starter|pro"
    r"|plus|premium|team|teams|business|enterprise|standard|family|individual|student|growth|scale|hobby|personal"
    r"|gold|silver|platinum|unlimited|annual|monthly|yearly|lite|max|ultra|essential|professional|developer"
    r"|trial)(?: \w+)? (?:plan|tier|subscription|tariff|package|account|licen[cs]e|membership)\b"
)
_YEAR = patterns.compile(r"(?:19|20)\d\d")
_SWITCHED = patterns.compile(
    r"\b(?:switched|changed|changing|switching|new|different|swapped) (?:my |our |to a new "
    r"|to a different )?(?P<n>gym|dentist|doctor|gp|therapist|bank|school|provider|insurer|insurance|broker"
    r"|energy provider|phone provider|electricity provider|supplier|vet|hairdresser|landlord|lawyer|accountant"
    r"|office|nursery|daycare|kindergarten|choir|club|church|coach|physio|trainer|tutor|team|desk|room|building"
    r"|supermarket|pharmacy|garage|internet provider)s?\b[^.]{0,30}?(?:\b(?:at|with|to|is|in|called|it's|now"
    r"|:) )+(?:the |a |dr\.? )?(?P<v>[^\W_][\w&'. -]{1,30}?)" + STOP
)
_DIET_NAMED = patterns.compile(
    r"\b(?:on|following|follow|keep to|stick to|started|doing|do) (?:a |an |the |this )?(?P<v>(?:very "
    r"|strict )?[a-z]+(?:[- ][a-z]+){0,2}?)[- ]diet\b"
)
_VERSION = patterns.compile(
    r"\b(?P<n>"
    + any_of(
        frozenset(
            w
            for k in ("programming_language", "framework", "database", "os", "package_manager", "queue")
            for w in THINGS[k]
        )
    )
    + (
        r"|node(?:\.?js)?|kubernetes|k8s|terraform|openssl|elasticsearch|nginx|gradle|maven|webpack|vite|cuda|pytorch"
        r"|tensorflow|numpy|pandas|ios|android|java|\.net|dotnet|php|wordpress)\s+(?:version "
        r"|v\.? ?)?(?P<v>\d{1,4}(?:\.\d{1,4}){0,3}(?:\.x| ?lts)?)\b"
    )
)


def taste(clause: Clause) -> Iterator[Claim]:
    who, match = person_of(clause), search_in(_TASTE, clause)
    if (
        who is None
        or match is None
        or match["v"].split()[0] in _NO_TASTE
        or patterns.search(r"\b(?:i|we)(?:'d| would)\b", clause.low[clause.start : match.end()])
        or (match["verb"] in _ALSO_NOUNS and _NO_LIKING.search(clause.low, clause.start, match.start()))
        or (match["verb"] == "like" and not _LIKES.search(clause.low, clause.start, match.start()))
        or _CLAUSE_AS_OBJECT.search(match["v"])
    ):
        return
    said = clause.low[max(clause.start, match.start() - 5) : match.end("verb")]
    value = "dislikes" if _DISLIKE.search(said) else "likes"
    yield Claim(f"{who}.taste.{slug(match['v'])}", value, many_valued=True, type="preference")


def habit(clause: Clause) -> Iterator[Claim]:
    who = person_of(clause)
    if who is None:
        return
    smokes = search_in(_SMOKES, clause)
    if smokes:
        no = smokes["q"] or smokes["n"] or patterns.search(r"never|n'?t|no longer|used to", smokes[0])
        yield Claim(f"{who}.smoking", "no" if no else signature(clause.low[smokes.start() : clause.end]))
        return
    plan = search_in(_PLAN, clause)
    if plan and not is_negated(clause, plan.start("v")):
        yield Claim(f"{who}.plan", slug(plan["v"]))
        return
    diet = search_in(_DIET_NAMED, clause)
    if diet:
        yield Claim(f"{who}.diet", slug(diet["v"]))


def switched(clause: Clause) -> Iterator[Claim]:
    match = search_in(_SWITCHED, clause)
    if match:
        yield Claim(f"user.{slug(match['n'])}", slug(match["v"]))


def version(clause: Clause) -> Iterator[Claim]:
    found = [m for m in _VERSION.finditer(clause.low, clause.start, clause.end) if not is_negated(clause, m.start())]
    found = [m for m in found if not (m["n"] in SEASONS and _YEAR.fullmatch(m["v"]))]
    if found:
        yield Claim(f"{slug(found[-1]['n'])}.version", found[-1]["v"].replace(" ", ""), loose=is_aside(clause))
