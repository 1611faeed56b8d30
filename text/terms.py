"""Text to search terms: the same analysis for indexing, for queries and for exact BM25.

It caches no words, because words are user content.
"""

import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

import Stemmer

from text import patterns
from text.irregular import BASES
from text.languages import ENGLISH, SMALL_WORDS, language_of

# English words that say nothing about the subject.  Dropping them is also the index's main protection: a frequency
# attack on keyed tokens recovers 80 % of the hundred commonest words with them, 1 % without.
STOP_WORDS = SMALL_WORDS[ENGLISH]
MAX_TERMS = 2048  # distinct terms indexed per memory; a longer text is still found by its first terms and its vector
TF_CAP = 3

_KEPT_CHARACTERS = 0x3000  # the alphabets; others are looked up each time
_CLITICS = frozenset({"s", "re", "ve", "ll", "d", "m", "t"})


class _Characters(dict[int, int]):
    """What each character of a text is in its words: itself, an apostrophe, or a space between them."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        made = code if character.isalnum() else ord("'" if character in "'’" else " ")
        if code < _KEPT_CHARACTERS:
            self[code] = made
        return made


_CHARACTERS = _Characters()
# Scripts written without spaces: a run of characters is indexed as overlapping pairs, the usual practice.
_UNSPACED = patterns.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿฀-๿]+")
_ALGORITHMS = {"de": "german", "fr": "french", "es": "spanish", "pt": "portuguese", "nl": "dutch"}
# "1,200" and "1.200" are "1200"
_THOUSANDS = patterns.compile(r"(?<=\d)[.,](?=\d\d\d(?!\d))")
_ACCENTS = dict.fromkeys(range(0x300, 0x370))
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_local = threading.local()


def _stem(language: str, words: list[str]) -> list[str]:
    # A PyStemmer object is not thread-safe, and caches 10,000 words by default; 0 disables that.
    stemmer = getattr(_local, language, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(language, 0)
        setattr(_local, language, stemmer)
    return list(stemmer.stemWords(words))


def folded(word: str) -> str:
    """A word in lower case without diacritics: "müller" is "muller"."""
    if word.isascii():
        return word
    bare = unicodedata.normalize("NFD", word.translate(_LETTERS)).translate(_ACCENTS)
    return unicodedata.normalize("NFC", bare)


def _words(text: str) -> list[str]:
    """Runs of letters and digits, in lower case, also joined by single apostrophes, which are removed."""
    lowered = unicodedata.normalize("NFKC", text).casefold()
    if "," in lowered or "." in lowered:
        lowered = _THOUSANDS.sub("", lowered)
    spaced = lowered.translate(_CHARACTERS)
    words = spaced.split()
    if "'" in spaced:
        words = [part for word in words for part in (_joined(word) if "'" in word else (word,))]
    if not lowered.isascii() and _UNSPACED.search(lowered):
        words = [part for word in words for part in _parts(word)]
    return words


def _joined(word: str) -> Iterator[str]:
    """The words in a run of characters with apostrophes, without clitics: "Ana's" is "Ana"."""
    for part in word.split("''"):
        stripped = part.strip("'")
        if stripped:
            before, _, after = stripped.rpartition("'")
            yield (before if before and after in _CLITICS else stripped).replace("'", "")


def _parts(word: str) -> Iterator[str]:
    for run in _UNSPACED.findall(word):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    yield from filter(None, _UNSPACED.split(word))


def language(text: str) -> str:
    """Code of the text's language; English if in doubt (``text.languages``)."""
    return language_of(map(folded, _words(text)))


def terms(text: str) -> list[str]:
    """The content terms of a text, in order: words in lower case, without diacritics or stop words, stemmed (Snowball).

    Irregular forms are those of their base: "went" is "go".  A word of a text in another language than English
    (``text.languages``) is two terms: its English stem, so that the same word is found from a text of any language, and
    its stem in that language, which begins with the language's code: "häuser" is "hauser" and "de:haus".
    """
    words = _words(text)
    plain = words if text.isascii() else [folded(word) for word in words]
    language = language_of(plain)
    if language == ENGLISH:
        return _stem("english", [BASES.get(word, word) for word in plain if word not in STOP_WORDS])
    small = SMALL_WORDS[language]
    pairs = zip(plain, words, strict=True)
    kept = [(word, form) for word, form in pairs if word not in STOP_WORDS and word not in small]
    stems = _stem("english", [BASES.get(word, word) for word, _ in kept])
    own = _stem(_ALGORITHMS[language], [form for _, form in kept])
    return [term for stem, other in zip(stems, own, strict=True) for term in (stem, f"{language}:{folded(other)}")]


def normalised(text: str) -> str:
    """The text as hashed for deduplication: without differences in case, spacing, width and closing punctuation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!… ")


def indexed(text_terms: Sequence[str]) -> dict[str, int]:
    """Frequency of each term for the index; the number of terms and the frequencies are capped."""
    counts = Counter(text_terms)
    kept = list(counts)[:MAX_TERMS]
    return {term: min(counts[term], TF_CAP) for term in kept}


def rounded_length(count: int) -> int:
    """The length rounded in steps of at most an eighth, so that the index does not reveal a text's exact word count."""
    if count <= 8:
        return count
    step: int = 2 ** (count.bit_length() - 4)
    return min(32_000, (count + step // 2) // step * step)
