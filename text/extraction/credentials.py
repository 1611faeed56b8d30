"""Whether the words after "token" or "password is" are the secret itself, not more prose."""

from text import patterns
from text.extraction.lexicon import listed
from text.extraction.literals import is_placeholder

_WORD = patterns.compile(r"[a-z]+(?:'[a-z]+)?[.,!?;:)]*$", patterns.IGNORECASE)
_PROSE = listed(
    "the a an in on at to of for it that this too very so not been being wrong right expired expiring weak strong"
    " invalid valid gone lost stolen"
    " changed leaked rotated reset required missing correct incorrect secure safe unsafe ok okay good bad old new"
    " stored saved kept somewhere there here"
    " managed hashed encrypted limited enough optional mandatory shared everywhere always never no longer still"
    " working broken fine based handled"
    " different same compromised blank empty hard easy long short manager managers policy policies field fields page"
    " prompt rotation reuse hygiene"
    " and or but if when with without my your our his her what which where how why again please pls first then every"
    " each some any all about by from"
    " is are was were be has have had will would should can could must may might do does did generated automatically"
    " something written forgotten"
)


def looks_secret(value: str, *, explicit: bool, what: str) -> bool:
    """Whether the words after a word such as "token" are the secret itself."""
    bare = value.strip(".,;:!?)\"'").lower()
    if len(bare) < 3 or bare in _PROSE or is_placeholder(value):
        return False
    digits = sum(c.isdigit() for c in bare)
    if (
        patterns.search(r"pin|puk|code|comb|otp|tan|cvc|cvv|2fa|factor|recovery|backup|unlock", what)
        and digits >= 3
        and digits >= len(bare) * 0.4
    ):
        return (
            explicit or "code" in what or "key" in what or what.strip() in ("pin", "cvc", "cvv", "otp") or digits >= 4
        )
    if patterns.fullmatch(r"\d+(?:st|nd|rd|th|%|k|h|d|s|ms|min|days?|weeks?|months?|years?|chars?)?", bare):
        return explicit and digits >= 6
    if patterns.fullmatch(r"v?\d+(?:\.\d+){1,3}|\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}|\d{1,2}:\d\d", bare):
        return False
    classes = sum(bool(patterns.search(p, value)) for p in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s.,;:!?)'\"/()-]"))
    mixed_inside = bool(
        patterns.search(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[!$%&#@^*~+=?]\w|\w[$%&#@^*~+=_]\w", value.strip(".,;:!?)"))
    )
    if explicit:
        if "pass" in what and _JOINED_WORDS.fullmatch(bare):
            return True
        if digits and (_GROUPS.fullmatch(bare) or ("code" in what and _WORD_AND_NUMBER.fullmatch(bare))):
            return True
        return mixed_inside and classes >= 2 and len(bare) >= 5
    return mixed_inside and classes >= 2 and len(bare) >= 8


_JOINED_WORDS = patterns.compile(r"[a-z]{3,12}(?:[-_.+][a-z]{3,12}){2,8}")
_WORD_AND_NUMBER = patterns.compile(r"[a-z]{4,16}[-_.]\d{3,8}")
_GROUPS = patterns.compile(r"(?:[a-z0-9]{4,12}-){2,8}[a-z0-9]{4,12}")


def looks_password(value: str, plain: str, end: int) -> bool:
    """Whether the words after "password is" are the password: even a plain word is, unless prose follows it."""
    bare = value.strip(".,;:!?)\"'")
    if len(bare) < 3 or bare.lower() in _PROSE or is_placeholder(value):
        return False
    if not _WORD.match(value) or not bare.isalpha():
        return True
    rest = plain[end : end + 12].lstrip()
    ends_here = (
        not rest
        or plain[end : end + 1] == "\n"
        or rest[0] in ".,;!\n)-"
        or value[-1:] in ".,;!"
        or rest.startswith(("remember", "for ", "keep", "pls", "please", "and ", "in case", "if ", "btw"))
    )
    return ends_here and not bare.lower().endswith(("ed", "ing", "able", "ly"))


def is_word_list(words: str) -> bool:
    listed = patterns.findall(r"[a-z]+", words.lower())
    return len(listed) >= 6 and sum(word in _PROSE for word in listed) <= len(listed) // 6
