"""Plaintext keeps to itself: in print, in logs, in errors and in messages."""

import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import orjson
import pytest

from apps.core.plaintext import Plaintext

SECRET = "the heron nests beside the lock"


@dataclass(frozen=True)
class Holder:
    text: Plaintext


@pytest.fixture
def text() -> Plaintext:
    return Plaintext(SECRET)


def test_only_reveal_shows_it(text: Plaintext) -> None:
    assert text.reveal() == SECRET


def test_it_prints_as_nothing(text: Plaintext) -> None:
    for printed in (str(text), repr(text), f"{text}", f"{text:>80}", f"{text!r}", "%s" % text, repr(Holder(text)),  # noqa: UP031
                    repr([text]), str({text: text})):  # fmt: skip
        assert SECRET not in printed
        assert "heron" not in printed


def test_it_is_not_serialised(text: Plaintext) -> None:
    for serialise in (pickle.dumps, json.dumps, orjson.dumps, copy.copy):
        with pytest.raises(TypeError) as refused:
            serialise(text)
        assert "heron" not in str(refused.value)


def test_it_is_logged_as_nothing(text: Plaintext, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("a test").info("said %s", text)

    assert "heron" not in caplog.text


def test_it_has_no_attributes_to_look_through(text: Plaintext) -> None:
    with pytest.raises(TypeError):
        vars(text)
    with pytest.raises(AttributeError):
        text.more = 1  # type: ignore[attr-defined]


def test_it_compares_by_content_and_with_nothing_else(text: Plaintext) -> None:
    assert text == Plaintext(SECRET)
    assert len({text, Plaintext(SECRET)}) == 1
    assert text != SECRET
    assert text != Plaintext("something else")


def test_it_is_as_long_and_as_true_as_its_text(text: Plaintext) -> None:
    assert len(text) == len(SECRET)
    assert text
    assert not Plaintext("")


def test_inside_a_value_it_stays_wrapped(text: Plaintext) -> None:
    assert asdict(Holder(text)) == {"text": text}
    assert copy.deepcopy(Holder(text)).text is text
