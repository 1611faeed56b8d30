"""langchain-memorysync: message history, tools and LangGraph store."""

import warnings

import pytest

from tests.frameworks.judges import installed

installed("langchain_memorysync", group="vendor")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the frameworks, about each other
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_memorysync import MemorySyncChatMessageHistory, create_memorysync_tools
    from langchain_memorysync.langgraph import MemorySyncStore

pytestmark = [pytest.mark.e2e, pytest.mark.filterwarnings("ignore")]  # of the frameworks, about each other


def test_history_returns_messages(user_id: str) -> None:
    said = [HumanMessage("I live in Lisbon."), AIMessage("How nice!")]
    with MemorySyncChatMessageHistory("s1", user_id=user_id) as history:
        history.add_messages(said)

        assert [(one.type, one.content) for one in history.messages] == [(one.type, one.content) for one in said]
    with MemorySyncChatMessageHistory("s2", user_id=user_id) as other:
        assert other.messages == []


def test_tools_add_and_search(user_id: str) -> None:
    tools = {tool.name: tool for tool in create_memorysync_tools(end_user_id=user_id)}

    tools["add_memory"].invoke({"text": "My dog is called Rex."})

    assert "Rex" in str(tools["search_memory"].invoke({"query": "What is my dog called?"}))


def test_store_puts_gets_searches_and_deletes(user_id: str) -> None:
    namespace = (user_id, "notes")
    with MemorySyncStore() as store:
        store.put(namespace, "tea", {"text": "I drink green tea."})
        store.put(namespace, "bike", {"text": "The bicycle needs a chain."})

        found = store.get(namespace, "tea")
        assert found is not None
        assert found.value == {"text": "I drink green tea."}
        assert store.search(namespace, query="green tea")[0].key == "tea"
        assert [one.key for one in store.search(namespace, filter={"text": "I drink green tea."})] == ["tea"]
        assert store.list_namespaces(prefix=(user_id,)) == [namespace]
        store.delete(namespace, "tea")
        assert store.get(namespace, "tea") is None
