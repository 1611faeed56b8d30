"""MemsyncSession against the tests of the OpenAI Agents SDK's own session."""

import inspect
from typing import Any

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import WaitFor, assert_passes, installed, published

installed("agents")

from memsync_adapters import Client  # noqa: E402
from memsync_adapters.openai_agents import MemsyncSession  # noqa: E402

pytestmark = [
    pytest.mark.e2e,
    # run_sync has an event loop of its own in a thread, whose connections nobody can close.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

judge = published("openai_agents", "tests.memory.test_session")

# Those of any session.  The others judge SQLite's files, locks, threads and corrupt rows, or need no session.
GENERIC = [
    "test_session_memory_basic_functionality_parametrized",
    "test_session_memory_with_explicit_instance_parametrized",
    "test_session_memory_different_sessions_parametrized",
    "test_sqlite_session_memory_direct",
    "test_sqlite_session_memory_pop_item",
    "test_session_memory_pop_different_sessions",
    "test_sqlite_session_get_items_with_limit",
    "test_session_memory_appends_list_input_by_default",
    "test_session_callback_prepared_input",
    "test_session_callback_repeating_history_does_not_grow_session",
    "test_sqlite_session_unicode_content",
    "test_sqlite_session_special_characters_and_sql_injection",
    "test_sqlite_session_concurrent_access",
    "test_session_settings_default",
    "test_session_settings_constructor",
    "test_session_settings_constructor_normalizes_dictionary",
    "test_get_items_uses_session_settings_limit",
    "test_get_items_explicit_limit_overrides_session_settings",
    "test_runner_with_session_settings_override",
]


def cases() -> list[tuple[str, dict[str, str]]]:
    """Each test by its name, with each way to run an agent if it takes one."""
    found: list[tuple[str, dict[str, str]]] = []
    for name in GENERIC:
        takes = inspect.signature(getattr(judge, name)).parameters
        ways = ["run", "run_sync", "run_streamed"] if "runner_method" in takes else []
        found += [(name, {"runner_method": way}) for way in ways] or [(name, {})]
    return found


@pytest.mark.parametrize(
    ("name", "arguments"), cases(), ids=lambda one: one if isinstance(one, str) else "-".join(one.values())
)
def test_their_tests(
    name: str, arguments: dict[str, str], make_client: MakeClient, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: dict[str, Client] = {}

    class Session(MemsyncSession):
        """Sessions of one file are of one end user."""

        def __init__(self, session_id: str, db_path: Any = ":memory:", **options: Any) -> None:
            client = clients.setdefault(str(db_path), make_client())
            super().__init__(session_id, client, **options)

        def close(self) -> None:
            pass

    monkeypatch.setattr(judge, "SQLiteSession", Session)

    assert_passes(getattr(judge, name), wait_for=wait_for, **arguments)


def test_tool_calls_come_back_as_they_were(client: Client, wait_for: WaitFor) -> None:
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is the weather?"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "reasoning", "id": "r1", "summary": []},
    ]

    async def work() -> Any:
        session = MemsyncSession("s1", client)
        await session.add_items(items)
        return await MemsyncSession("s1", client).get_items(), await MemsyncSession("s1", client).get_items(2)

    assert wait_for(work()) == (items, items[2:])


def test_memories_are_extracted_where_that_is_asked_for(client: Client, wait_for: WaitFor) -> None:
    from memsync_adapters.client import find_memories

    async def work() -> Any:
        session = MemsyncSession("s1", client, extract=True)
        await session.add_items([{"role": "user", "content": "I live in Lisbon."}])
        await MemsyncSession("s2", client).add_items([{"role": "user", "content": "I live in Porto."}])
        return [one["raw_text"] for one in await client.arun(find_memories("Where do I live?", limit=5))]

    assert wait_for(work()) == ["I live in Lisbon."]
