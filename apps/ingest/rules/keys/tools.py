"""Keys about tools and providers known by name."""

from collections.abc import Iterator

from apps.ingest.rules.keys.claim import Claim, Clause, any_of, is_aside, is_negated, search_in
from apps.ingest.rules.lexicon import COMPANIES, THING_NEEDS_VERB, THING_OF, THINGS, listed
from apps.ingest.rules.subjects import slug
from text import patterns

_THING_WORD = patterns.compile(r"(?<![\w@/.-])(?P<v>" + any_of(frozenset(THING_OF)) + r")(?![\w@/-])")
_THING_SAID = patterns.compile(
    r"\b(?:use|uses|using|switch(?:ed|es|ing)?|moved|moving|migrat\w+|on|to|prefer|prefers|run|runs|running|drive"
    r"|drives|driving|have|has|got|bought|bank|banks|banking|with|at|is|are|went|sold|closed|cancelled|canceled"
    r"|ditched|dropped|back|love|swear|swears|by|in|stick|rely|relies|chose|picked|stores?|reads?|built|written"
    r"|hosted|deployed|subscribe[ds]?|pay|our|my|new|now|upgraded|replaced|installed|signed|still|from)\b"
)
_STRONG_VERB = patterns.compile(
    r"\b(?:use|uses|using|switch(?:ed|es|ing)?|moved|migrat\w+|prefer|runs?|running|drives?|driving|bought|banks?"
    r"|banking|sold|closed|cancelled|canceled|ditched|swears?|rely|hosted|deployed|written|built|stores?|upgraded"
    r"|replaced|account|phone|car|editor|browser|database|db|provider|everything|subscribed|installed|have a|got a"
    r"|contract)\b"
)
_DOMAIN_WORDS = {
    "bank": patterns.compile(r"\b(?:bank\w*|account|salary|savings|closed|opened|everything is|money|mortgage|card)\b"),
    "car": patterns.compile(
        r"\b(?:car|drive|drives|driving|bought|sold|have a|got a|leas\w+|parked|vehicle|trade\w*)\b"
    ),
    "mobile_provider": patterns.compile(r"\b(?:mobile|phone|sim|contract|provider|carrier|plan|tariff|network)\b"),
}


# "We moved the backend to …": what was moved is what the tool is used for.
_MOVED = patterns.compile(
    r"\b(?:moved|moving|migrated|migrating|switched|ported|porting|shifted|transferred|converted|rewrote|ported)"
    r" (?:the|our|my|all|its) "
    r"(?P<s>[\w-]+(?: [\w-]+){0,2}?)(?: over| across)?(?: (?:from|off|away from) [\w. -]{2,24}?)?(?: over)? (?:to"
    r"|onto|into|in)\b"
)
# Nouns that only say again what a tool of the kind is for.
_OBJECT_OF = {
    "version_control": listed("code repo repos repository source"),
    "tracker": listed("ticket issue task bug board"),
    "notes_app": listed("note"),
    "email_provider": listed("mail email inbox"),
    "music_service": listed("music playlist"),
    "password_manager": listed("password login"),
    "chat": listed("chat message team_chat"),
    "ci": listed("ci build pipeline test"),
    "bank": listed("money saving account salary"),
}
_USED_FOR = patterns.compile(
    r" (?:for|in|as the database (?:of|for)) (?:the |our |my |this )?(?P<v>[\w-]+(?: (?:service|app|api|frontend"
    r"|backend|ledger|project|pipeline|system|site|team|repo|module|tool|job|database|db))?)"
)


_SERVING = ("database", "cloud", "queue", "ci", "framework", "programming_language")
_REPLACING = patterns.compile(r"\b(?:switch|mov|migrat|went|replac|trad|swap|exchang|ditch|chang)\w*\b")


def thing(clause: Clause) -> Iterator[Claim]:
    """Tools and providers known by name. The last one that is not turned down is the current one."""
    if not search_in(_THING_SAID, clause):
        return
    text = clause.low[clause.start : clause.end]
    strong = _STRONG_VERB.search(text) is not None
    kept: Claim | None = None
    closed: Claim | None = None
    for match in _THING_WORD.finditer(clause.low, clause.start, clause.end):
        word = match["v"]
        kind = _kind_of_thing(word, text)
        if kind is None or (word in THING_NEEDS_VERB and not strong):
            continue
        subject = clause.subject
        owner = "user" if subject.key in ("", "user") or subject.attribute else subject.key
        if owner != "user" and kind.split("_")[0] in owner.split("_"):
            owner = "user"  # "our chat tool is …"
        used_for = _USED_FOR.match(clause.low, match.end(), clause.end) if owner == "user" else None
        if used_for and kind in _SERVING:
            owner = slug(used_for["v"])
        moved = _MOVED.search(clause.low, clause.start, match.start()) if owner == "user" else None
        if moved and slug(moved["s"]) not in ("", kind) and kind in _SERVING:
            owner = slug(moved["s"])
        if owner in _OBJECT_OF.get(kind, ()):
            owner = "user"
        if (
            owner != "user"
            and not subject.is_person
            and kind in ("bank", "car", "mobile_provider", "music_service", "phone", "email_provider")
        ):
            owner = "user"
        if (
            subject.key
            and not subject.is_person
            and (word == subject.key.replace("_", " ") or subject.key.startswith(slug(word)))
        ):
            continue  # the clause is about the tool itself
        claim = Claim(f"{owner}.{kind}", slug(word))
        if is_negated(clause, match.start()):
            closed = closed or claim
        else:
            kept = claim
            if not _REPLACING.search(text):
                break
    if kept:
        yield kept._replace(loose=is_aside(clause))
    elif closed:
        yield closed._replace(closed=True, loose=is_aside(clause))


def _kind_of_thing(word: str, text: str) -> str | None:
    for kind, domain in _DOMAIN_WORDS.items():
        if word in THINGS[kind]:
            if domain.search(text) or (kind == "car" and word not in COMPANIES | THING_NEEDS_VERB):
                return kind
            others = [k for k in THINGS if k not in _DOMAIN_WORDS and word in THINGS[k]]
            return others[0] if others else None
    return THING_OF.get(word)
