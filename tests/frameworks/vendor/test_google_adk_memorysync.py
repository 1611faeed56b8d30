"""google-adk-memorysync: the memory service."""

import asyncio
import warnings

import pytest

from tests.frameworks.judges import installed

installed("google_adk_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.genai import types
    from google_adk_memorysync import MemorySyncMemoryService

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other


def test_session_is_added_and_found(user_id: str) -> None:
    said = types.Content(role="user", parts=[types.Part(text="My dog is called Rex.")])
    session = Session(id="s1", app_name="app", user_id=user_id, events=[Event(author="user", content=said)])

    async def work() -> list[str]:
        service = MemorySyncMemoryService()
        try:
            await service.add_session_to_memory(session)
            found = await service.search_memory(app_name="app", user_id=user_id, query="What is my dog called?")
            return [part.text for memory in found.memories for part in memory.content.parts]
        finally:
            await service.aclose()

    assert any("Rex" in text for text in asyncio.run(work()))
