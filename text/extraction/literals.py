"""Whether the text in the place of a secret is a secret, or a placeholder, code expression or sample value."""

import math
from collections import Counter

from text import patterns
from text.extraction.lexicon import listed

_QUOTES = "\"'`"
_PLACEHOLDER = patterns.compile(
    r"[\"'(<\[{]*(?:\*{3,}|x{4,}|\.{3,}|<[^>]*>?|\$\{|\$\(|\$[A-Z][A-Z_]{2,}\b|\$[a-z_]+(?:->|\[|[;,)]|\Z)"
    r"|\{\{?\w+|\{%|%\(?\w+\)?[s%]|your[-_]?\w*|(?:insert|replace)[-_]\w*|example\w*|redacted\w*|placeholder\w*"
    r"|changeme_?here|\[[\w ]+\]?|!(?:vault|ref|sub|env|secret|getatt)\b)",
    patterns.IGNORECASE,
)
# Part of a vendor's key format that no key generator produces.
_DUMMY = patterns.compile(
    r"(?:^|[\s:_-])(?:your|insert|replace|example|placeholder|redacted|dummy|fake|sample)(?:[-_]|\Z)"
    r"|x{6,}|\*{4,}|EXAMPLE(?:KEY)?\b|\.{3}",
    patterns.IGNORECASE,
)
_NO_VALUE = listed(
    "str string text varchar char bytes bytea boolean bool int integer bigint number null none nil undefined true"
    " false any object uuid password passwd pwd token secret key username blob type required optional const let var not"
    " self this"
)
_NAME = r"[A-Za-z_]\w*"
_PATH_OF_NAMES = patterns.compile(rf"[@&*!]?\$?{_NAME}(?:(?:\.|->|::|\?\.)\$?{_NAME})*")
_CONSTANT = patterns.compile(r"[A-Z]{2,}(?:_[A-Z]+)+[;,)\]}]*")
_JOINED = patterns.compile(r"[A-Za-z]+(?:_[A-Za-z]+)+|[a-z]+(?:[A-Z][a-z]+)+")
_NAMES_A_SECRET = patterns.compile(r"pass|pwd|token|key|secret|hash|cred|user|value|input|salt", patterns.IGNORECASE)
_OWNERS = listed(
    "process os env environ import request req self this config settings conf ctx app args props state data form body"
    " params options opts event user session secrets vars var local flask django response res payload account client"
    " customer db row record model instance input json cfg current_app st"
)
_FILE = patterns.compile(r"(?:\.{1,2}|~)?(?:/[a-z0-9_.-]{1,30}){2,}/?[;,)]*")
_LEET = str.maketrans("0134578@$!", "oleastbasi")
_SAMPLE_SHORT = patterns.compile(r"(?<![a-z])(?:abc|foo|bar|baz|key|dev|xyz|new|old|my|pw|pwd)(?![a-z])|123|111|000")
_SAMPLE = patterns.compile(
    r"pass|secret|test|demo|dummy|fake|mock|admin|root|user|your|here|token|qwerty|hello|world|valid|wrong|default"
    r"|local|string|value|strong|secure|super|hunter|alice|some|1234|letme|change|postgres|redis|mysql|correct"
)
_SAMPLE_LONG = patterns.compile(
    r"passw|secret|example|sample|placeholder|changeme|qwerty|123456|abcdef(?!\d)|correcthorse|yourkey|apikey|api_key"
    r"|mytoken|access_token|access-token|your[-_]"
)
_LONGEST_PERIOD = 8


def is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.match(value) is not None


def is_dummy(shape: str) -> bool:
    """A vendor's key format filled with words: "sk-your-key-here"."""
    return _DUMMY.search(shape) is not None


def is_expression(plain: str, start: int, end: int, *, in_code: bool) -> bool:
    """Whether plain[start:end], after ":" or "=", is code that fetches a value, or its type, not the value."""
    value = plain[start:end]
    if plain[start - 1 : start] in _QUOTES and start:
        return False
    bare = value.strip(".,;:!?)]}")
    if bare.lower() in _NO_VALUE or _CONSTANT.fullmatch(value) or _FILE.fullmatch(value):
        return True
    named = _PATH_OF_NAMES.match(value)
    if named is None:
        return False
    name, rest = named[0], value[named.end() :]
    owner = patterns.split(r"\.|->|::|\?\.", name.lstrip("@&*!$"))[0]
    path = owner != name.lstrip("@&*!$")
    if rest[:1] in ("(", "[") and rest:
        closed = rest[-1] in ")];,}" or "(" in rest[1:] or plain[end : end + 1] in ("'", '"', ">")
        return in_code or path or (closed and (name[0].islower() or name[0] == "_"))
    if rest.strip(";,)]}"):
        return False
    if path:
        return in_code or owner.lower() in _OWNERS or rest.startswith(";") or name.count(".") > 1
    if _JOINED.fullmatch(name) and _NAMES_A_SECRET.search(name):
        return True
    return in_code and not any(c.isdigit() for c in name)


def looks_real(value: str) -> bool:
    """Whether a literal in code can be a real credential: mixed characters, long enough, no sample value."""
    value = value.strip(",;)]}")
    if len(value) < 8 or is_sample(value):
        return False
    kinds = sum(any(test(c) for c in value) for test in (str.islower, str.isupper, str.isdigit, _is_sign))
    if kinds >= 3:
        return True
    return kinds >= 2 and len(value) >= 16 and any(c.isdigit() for c in value) and _bits(value) >= 3.0


def looks_configured(value: str) -> bool:
    """Whether a bare value in a configuration line can be one: the same, or a word with digits."""
    if looks_real(value):
        return True
    letters, digits = sum(c.isalpha() for c in value), sum(c.isdigit() for c in value)
    return len(value) >= 8 and letters >= 3 and digits >= 2 and not is_sample(value)


def is_sample(value: str) -> bool:
    """Whether it contains a word typical of examples, or repeats itself."""
    if is_placeholder(value) or _goes_round(value):
        return True
    for said in (value.lower(), value.lower().translate(_LEET)):
        if _SAMPLE_LONG.search(said):
            return True
        if len(value) < 24 and _SAMPLE.search(said):
            return True
        if len(value) < 16 and _SAMPLE_SHORT.search(said):
            return True
    return False


def _goes_round(value: str) -> bool:
    """Whether one to eight characters are repeated four times in a row, on one line."""
    for period in range(1, _LONGEST_PERIOD + 1):
        alike = 0
        for char, later in zip(value, value[period:], strict=False):
            alike = alike + 1 if char == later and char != "\n" else 0
            if alike == 3 * period:
                return True
    return False


def _is_sign(char: str) -> bool:
    return not char.isalnum() and char not in "_-./:"


def _bits(value: str) -> float:
    """Shannon entropy per character, in bits."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
