"""The ids on the right were given by the model's own tokenizer."""

import time

import pytest

from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece

CLS, SEP = 101, 102

KNOWN = [
    ("", []),
    (" \t\n ", []),
    ("The quick brown fox jumps over the lazy dog.", [1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012]),
    (
        "Don't over-think it: 3.14 != 2,718!",
        [2123, 1005, 1056, 2058, 1011, 2228, 2009, 1024, 1017, 1012, 2403, 999, 1027, 1016, 1010, 6390, 2620, 999],
    ),
    (
        "unbelievably antidisestablishmentarianism",
        [4895, 8671, 2666, 3567, 6321, 3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964],
    ),
    ("ALL CAPS and MixedCase", [2035, 9700, 1998, 3816, 18382]),
    ("Café naïve Ångström", [7668, 15743, 17076, 15687]),
    ("Cafe\u0301", [7668]),
    ("ΟΔΟΣ οδός", [1169, 29722, 29730, 29733, 1169, 29722, 15297]),
    ("İstanbul", [9960]),
    ("日本語のテキスト", [1864, 1876, 1950, 1671, 30239, 30227, 30233, 30240]),
    ("你好，世界", [100, 100, 1989, 1745, 100]),
    ("한국어", [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
    ("मनीष", [1331, 29863, 29878, 29873]),
    (
        "tab\tnew\nline\u2028separator\xa0nbsp\u3000wide",
        [21628, 2047, 2240, 19802, 25879, 2953, 1050, 5910, 2361, 2898],
    ),
    ("zero\u200bwidth\ufeff and bell\x07 and \x0bvertical", [5717, 9148, 11927, 2232, 1998, 4330, 1998, 7471]),
    ("bro\x00ken \ufffd here", [3714, 2182]),
    ("[CLS] hello [SEP] [mask] [MASK]", [101, 7592, 102, 1031, 7308, 1033, 103]),
    ("x" * 100, [22038] + [20348] * 49),
    ("x" * 101, [100]),
    ("😀 party 🎉", [100, 2283, 100]),
    (
        "user@example.com #tag $5 ^_^ `code` ~",
        [5310, 1030, 2742, 1012, 4012, 1001, 6415, 1002, 1019, 1034, 1035, 1034, 1036, 3642, 1036, 1066],
    ),
    ("ﬁne ½ ①", [1984, 2638, 1092, 100]),
    ("\u0378 unassigned", [100, 14477, 18719, 19225]),
    ("e\u0301\u0323 \u0915\u094d\u0937", [1041, 1315, 29873]),
]


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(read_vocabulary(find_model_folder()))


@pytest.mark.parametrize(("text", "ids"), KNOWN, ids=lambda value: ascii(value)[:30])
def test_ids_are_those_of_the_models_tokenizer(tokenizer: WordPiece, text: str, ids: list[int]) -> None:
    assert tokenizer.encode(text, max_tokens=256) == [CLS, *ids, SEP]


def test_a_text_is_cut_to_the_window_and_still_ends_with_sep(tokenizer: WordPiece) -> None:
    ids = tokenizer.encode("bread and butter " * 100, max_tokens=16)

    assert len(ids) == 16
    assert ids[0] == CLS
    assert ids[-1] == SEP
    assert ids == [*tokenizer.encode("bread and butter " * 100, max_tokens=256)[:15], SEP]


def test_a_long_text_is_not_read_beyond_the_window(tokenizer: WordPiece) -> None:
    started_at = time.process_time()
    tokenizer.encode("bread and butter " * 500_000, max_tokens=256)

    assert time.process_time() - started_at < 1


def test_nothing_of_a_text_is_kept(tokenizer: WordPiece) -> None:
    before = {name: len(value) for name, value in vars(tokenizer).items() if hasattr(value, "__len__")}

    tokenizer.encode("zygomorphic quux plaintext", max_tokens=256)

    after = {name: len(value) for name, value in vars(tokenizer).items() if hasattr(value, "__len__")}
    assert after == before
