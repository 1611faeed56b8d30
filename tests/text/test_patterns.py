"""What ``text.patterns`` answers is what ``re`` answers."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from text import letters, patterns
from text.immediate import is_immediate
from text.syntax import UnsupportedSyntax, parse

PATTERNS = [
    (r"\bfoo\b", 0),
    (r"\b\w+\b", 0),
    (r"\w+ly\b|\B\w", 0),
    (r"(?<!\w)\d+(?![\w%])", 0),
    (r"(?<=[.!?] )[a-z]+(?= |$)", re.IGNORECASE),
    (r"\b(?!i\b|we\b)(?P<who>[a-z'-]+) (?P<verb>says?|said)\b(?! so)", 0),
    (r"(?:\w+ ){0,2}?(?!the\b)[a-z]+\b", re.IGNORECASE),
    (r"(?:(?!no)\w+ )+(?P<last>\w*)", 0),
    (r"(?:(?!a)\w ?){1,3}", 0),
    (r"^\s*(?P<k>\S{1,4})\s*[:=]|x$", 0),
    (r"^\w*$", re.MULTILINE),
    (r"\A.{0,3}|.\Z", re.DOTALL),
    (r"[^\W\d_]+(?:['\u2019][^\W_]+)?", 0),
    (r"[\u4e00-\u9fff]+|[.!?\u3002\uff01]", 0),
    (r"caf\u00e9|[\u00e0-\u00ff]{2}|\u00df", re.IGNORECASE),
    (r"(?P<a>a+)(?P<b>b*)(c)?|(?P<d>d)", re.IGNORECASE),
    (r"a*|b", 0),
    (r"(?i:S)k|(?-i:K)[a-z]", re.IGNORECASE),
    (r"\d\s\D\S", re.ASCII),
    (r"\b\w+\b", re.ASCII),
    (r"""(?P<x>x) # a comment
         \s+ y""", re.VERBOSE),
    (r"x{2,3}y{0,1200}z?", 0),
    (r"[^\W_]+(?:['\u2019.-][^\W_]+)*", 0),
    (r"[A-Za-z]+|\d+|[^\W\d_]|\S", re.ASCII),
    (r"\b(?:was|(w)ere)\b|,? ?", re.IGNORECASE),
    (r'"[^"]*(?:"|\Z)|(?<!\w)\'[^\'\n]{2,}\'(?!\w)', 0),
]  # fmt: skip
ALPHABET = (
    "aAbcdiIknoswxyz  .,:'\"=_09\n\u00e9\u00df\u0416\u0436\u4f60\u597d\u3002\u2019\u2014\u0663\u2003\u0085\x1f"
    "\U0001f600\U0001d4d0\u017f\u212a\u0130"
)
WORDS = st.sampled_from(["foo", "I say", "she said so", "we says", "no", "the", "x = 1", "caf\u00e9", "\u597d", "3%"])
TEXTS = st.one_of(st.text(ALPHABET, max_size=30), st.text(max_size=20), st.lists(WORDS, max_size=6).map(" ".join))


def answers(found: Any) -> list[Any]:
    return [(one.span(), one.groups(), one.groupdict(), one.lastgroup, one[0]) for one in found]


@pytest.mark.parametrize(("pattern", "flags"), PATTERNS)
def test_it_finds_what_re_finds(pattern: str, flags: int) -> None:
    ours, theirs = patterns.compile(pattern, flags), re.compile(pattern, flags)

    @given(TEXTS, st.integers(0, 8), st.integers(0, 30))
    @example("she said it, Zo\u00eb said so", 1, 20)
    @example("", 0, 0)
    def compare(text: str, start: int, end: int) -> None:
        with letters.kept():
            assert answers(ours.finditer(text)) == answers(theirs.finditer(text))
            assert answers(ours.finditer(text, start, end)) == answers(theirs.finditer(text, start, end))
            for method in ("search", "match", "fullmatch"):
                for bounds in ((), (start,), (start, end)):
                    found, wanted = getattr(ours, method)(text, *bounds), getattr(theirs, method)(text, *bounds)
                    assert answers([found] if found else []) == answers([wanted] if wanted else [])
            assert ours.findall(text) == theirs.findall(text)
            assert ours.split(text) == theirs.split(text)
            assert ours.sub("-", text) == theirs.sub("-", text)

    compare()


@pytest.mark.parametrize(
    "pattern",
    [r"[a-z]+", r"[a-z]+(?:-[a-z]+)*", r"a*b*c?", r"\b(?:so|no)\b", r"(?:a|b)+", r"x(?!y)", r"(?:ab?)*", r"\d{2,}"],
)
def test_patterns_that_give_nothing_back_are_left_to_re(pattern: str) -> None:
    assert is_immediate(parse(pattern, 0).node)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[a-z]+-", r"\w+\b", r"(?:a+)+b", r"(?:a+)*$", r"(?:a+b)*", r"(?:a*)*", r"(?:ab){2,}", r"a+(?=b)", r"x(?!y+)",
        r"(?:a?){8}b", r"a{0,9}b", r"(?:a1|b2|c3|d4|e5|f6|g7|h8|i9)\b",
    ],
)  # fmt: skip
def test_patterns_that_may_give_something_back_are_not(pattern: str) -> None:
    assert not is_immediate(parse(pattern, 0).node)


def test_groups_are_filled_into_templates() -> None:
    assert patterns.sub(r"(\d+) (?P<unit>\w+)", r"\g<unit>: \1\n", "12 kg") == "kg: 12\n"
    assert patterns.sub(r"(a)|b", r"[\1]", "ab") == "[a][]"
    assert patterns.sub(r"\w+", lambda found: found[0].upper(), "so be it", count=2) == "SO BE it"


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?P<q>['\"]).*(?P=q)", r"(?>a+)b", r"a*+b", r"(a)?(?(1)b|c)"])
def test_what_is_not_linear_is_refused_when_it_is_used(pattern: str) -> None:
    made = patterns.compile(pattern)

    with pytest.raises(UnsupportedSyntax):
        made.search("a")


def test_no_text_is_shown_by_a_match() -> None:
    found = patterns.search("s.*", "my secret")

    assert "secret" not in repr(found)


def test_nothing_of_a_text_is_held_after_it_was_read() -> None:
    with letters.kept():
        read = letters.bytes_of("caf\u00e9")
        assert letters.bytes_of("caf\u00e9") is read

    assert letters.bytes_of("caf\u00e9") is not read


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?:\w+ly |really |so )*(?:want)\b", "really " * 20_000 + "x"),
        (r"(?:^|[\n.]\s*)(?:\[?#{0,3}\s*)system", "\n" * 20_000),
        (r"(a+)+$", "a" * 20_000 + "b"),
        (r"(a|aa)*c", "a" * 20_000),
        (r"(?:(?!b)a*)*c", "a" * 5_000),
        (r"\b(?:\w+\s?)*(?<!x)$", "caf\u00e9 " * 5_000 + "!"),
        (r"(?<![\w.])(?:\d[ -]?){12,18}\d(?!\w)", "1" * 200_000 + "a"),
    ],
)
def test_what_takes_re_for_ever_is_read(pattern: str, text: str) -> None:
    """With ``re`` each of these goes on for minutes or for good; the limit of a test's time would name it."""
    assert patterns.compile(pattern).search(text) is None


def test_the_engine_does_not_read_the_whole_text_for_each_of_many_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the engine the blank of no width and the apostrophe are one: it takes the whole text for one word."""
    pattern = patterns.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
    text = "\u200b\u00e9" * 5_000
    read: list[int] = []
    engine = pattern._finder._loose_engine

    class Counting:
        def Match(self, *asked: Any) -> Any:  # noqa: N802  the engine's name
            spans = engine.Match(*asked)
            read.append(spans[0][1] - spans[0][0])
            return spans

    for name in ("_loose_engine", "_strict_engine"):
        monkeypatch.setitem(pattern._finder.__dict__, name, Counting())

    assert pattern.findall(text) == ["\u00e9"] * 5_000
    assert sum(read) < 30 * len(text)
