"""API key texts: what is minted is recognised, and nothing else is."""

import hmac
import re
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.apikeys import tokens
from apps.projects.scope import Environment

EVERY_ENVIRONMENT = pytest.mark.parametrize(
    ("environment", "prefix"),
    [
        (Environment.PRODUCTION, "ms_live_"),
        (Environment.STAGING, "ms_test_"),
        (Environment.DEVELOPMENT, "ms_dev_"),
    ],
)
# Worked out apart from the code: `printf %s BODY | gzip -c | tail -c8 | od -t u4` gives 2765819804, base62 31B64q.
KNOWN = "ms_live_00000000001_" + "A" * 43


@EVERY_ENVIRONMENT
def test_minted_key_has_its_environments_prefix_and_is_recognised(environment: Environment, prefix: str) -> None:
    text, kid = tokens.mint(environment)

    assert re.fullmatch(prefix + r"[0-9A-Za-z]{11}_[0-9A-Za-z]{49}", text)
    assert tokens.parse(text) == tokens.ParsedKey(environment=environment, kid=kid)


def test_two_keys_share_neither_kid_nor_secret() -> None:
    (one, kid), (other, other_kid) = tokens.mint(Environment.STAGING), tokens.mint(Environment.STAGING)

    assert kid != other_kid
    assert one.split("_")[3] != other.split("_")[3]


def test_checksum_is_the_crc32_that_offline_scanners_compute() -> None:
    assert tokens.parse(KNOWN + "31B64q").kid == "00000000001"


@given(position=st.integers(0, 68), character=st.sampled_from(string.printable))
def test_one_wrong_character_is_never_a_key(position: int, character: str) -> None:
    text, _ = tokens.mint(Environment.PRODUCTION)
    wrong = text[:position] + character + text[position + 1 :]
    if wrong == text:
        return

    with pytest.raises(tokens.NotAKey):
        tokens.parse(wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text.upper(),
        lambda text: text.replace("ms_live_", "ms_test_"),
        lambda text: text.replace("ms_live_", "ms_prod_"),
        lambda text: text.replace("_", "-"),
        lambda _: "",
    ],
)
def test_anything_added_lost_or_relabelled_is_not_a_key(change: Callable[[str], str]) -> None:
    text, _ = tokens.mint(Environment.PRODUCTION)

    with pytest.raises(tokens.NotAKey):
        tokens.parse(change(text))


@given(st.text())
def test_any_text_is_refused_without_another_error(text: str) -> None:
    with pytest.raises(tokens.NotAKey):
        tokens.parse(text)


def test_refusal_does_not_repeat_the_text() -> None:
    text, _ = tokens.mint(Environment.PRODUCTION)

    with pytest.raises(tokens.NotAKey) as refused:
        tokens.parse(text[:-1])

    assert text[20:40] not in str(refused.value)


def test_digest_covers_the_whole_text_and_depends_on_the_pepper() -> None:
    text, _ = tokens.mint(Environment.DEVELOPMENT)

    made = tokens.digest(b"p" * 32, text)

    assert made == hmac.new(b"p" * 32, text.encode(), "sha256").digest()
    assert made != tokens.digest(b"q" * 32, text)
    assert not tokens.is_same(made, tokens.digest(b"p" * 32, text[:-1]))
