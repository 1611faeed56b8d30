"""llamaindex-memorysync: memory and retriever."""

import asyncio
import warnings

import pytest

from tests.frameworks.judges import installed

installed("llamaindex_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from llama_index.core.llms import ChatMessage
    from llamaindex_memorysync import MemorySyncMemory, MemorySyncRetriever

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other


def test_what_memory_was_put_is_retrieved(user_id: str) -> None:
    memory = MemorySyncMemory.from_defaults(session_id="s1", user_id=user_id)
    asyncio.run(memory.aput_messages([ChatMessage(role="user", content="My dog is called Rex.")]))

    found = MemorySyncRetriever(user_id=user_id).retrieve("What is my dog called?")

    assert [one.node.get_content() for one in found] == ["My dog is called Rex."]
    assert "Rex" in str(asyncio.run(memory.aget(input="What is my dog called?")))
