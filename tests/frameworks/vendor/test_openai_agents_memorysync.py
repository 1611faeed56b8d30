"""openai-agents-memorysync: the session."""

import asyncio
import warnings
from typing import Any

import pytest

from tests.frameworks.judges import installed

installed("openai_agents_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from openai_agents_memorysync import MemorySyncSession

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "I live in Lisbon."},
    {"role": "assistant", "content": "How nice!"},
    {"role": "user", "content": "Is it?"},
]


def test_session_adds_gets_pops_and_clears(user_id: str) -> None:
    async def work() -> list[Any]:
        session = MemorySyncSession("s1", user_id=user_id)
        try:
            await session.add_items(ITEMS)
            found = [await session.get_items(), await session.get_items(2), await session.pop_item()]
            found.append(await session.get_items())
            await session.clear_session()
            return [*found, await session.get_items()]
        finally:
            await session.aclose()

    assert asyncio.run(work()) == [ITEMS, ITEMS[1:], ITEMS[2], ITEMS[:2], []]
