"""The bundled conversation, as data."""

import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

BETWEEN_TURNS = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTurn:
    """One turn.  role: ``user`` or ``assistant``; session: the conversation that it belongs to."""

    at: datetime
    session: str
    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuestion:
    """shows: what the recall demonstrates; finds: the turn whose memory should come first."""

    query: str
    shows: str
    finds: str


def conversation() -> list[DemoTurn]:
    """Every turn, oldest first."""
    return [
        DemoTurn(at=talk["at"] + number * BETWEEN_TURNS, session=talk["id"], role=role, text=text)
        for talk in _file()["talk"]
        for number, (role, text) in enumerate(talk["turns"])
    ]


def questions() -> list[DemoQuestion]:
    return [DemoQuestion(**question) for question in _file()["question"]]


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("conversation.toml").read_text())
