"""pydantic-ai-memorysync: the capability."""

import asyncio
import warnings
from typing import Any

import pytest

from tests.frameworks.judges import installed

installed("pydantic_ai_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from pydantic_ai import Agent, ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_memorysync import MemorySyncCapability

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other


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
