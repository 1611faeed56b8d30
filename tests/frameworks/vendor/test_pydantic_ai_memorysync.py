"""pydantic-ai-memorysync: the capability."""

import asyncio
from typing import Any

import pytest

from tests.frameworks.judges import installed

installed("pydantic_ai_memorysync", group="vendor")

from pydantic_ai import Agent, ModelResponse, TextPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai_memorysync import MemorySyncCapability  # noqa: E402

pytestmark = pytest.mark.e2e


def reply(messages: list[Any], info: Any) -> ModelResponse:
    return ModelResponse([TextPart("Rex." if "Rex" in str(messages) + str(info) else "I do not know.")])


def test_an_agent_remembers_in_its_second_run(user_id: str) -> None:
    async def run(said: str) -> str:
        capability = MemorySyncCapability(user_id=user_id)
        try:
            return str((await Agent(FunctionModel(reply), capabilities=[capability]).run(said)).output)
        finally:
            await capability.aclose()

    asyncio.run(run("My dog is called Rex."))

    assert asyncio.run(run("What is my dog called?")) == "Rex."
