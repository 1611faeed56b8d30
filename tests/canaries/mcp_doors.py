"""The doors of the Model Context Protocol, with a canary wherever a client can put text."""

import json
from typing import Any

from tests.canaries.doors import NAME, Visitor

VERSION = "2025-11-25"


def speak_mcp(visitor: Visitor) -> None:
    """Tools, resources and the prompt, right and wrong; a reply to what a tool asks."""
    take = visitor.family.take
    headers = {"MCP-Protocol-Version": VERSION, "Accept": "application/json, text/event-stream"}

    def post(body: Any, path: str = "/v1/mcp", **more: str) -> Any:
        return visitor.call("POST", path, json=body, headers=headers | more)

    def ask(method: str, path: str = "/v1/mcp", **params: Any) -> Any:
        return post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, path)

    def tool(name: str, path: str = "/v1/mcp", **arguments: Any) -> Any:
        answer = ask("tools/call", path, name=name, arguments=arguments)
        assert answer.status_code == 200, answer.text
        return answer

    tool("add_memory", text=f"I live in {take('text of a tool').capitalize()}.", tags=[take("tag of a tool")])
    kept = {"text": "The spare key lies under the blue flower pot.", "importance": 0.6, "deduplicate": False}
    added = visitor.call("POST", "/memory/add", json=kept)
    assert added.status_code == 201, added.text
    memory_id = f"m_{added.json()['id']}"
    tool("search_memory", query=f"who lives in {take('query of a tool')}?")
    tool("update_memory", id=memory_id, metadata={"note": take("metadata of a tool")})
    tool("record_fact", subject=take("subject"), predicate=take("predicate"), object=take("object"))
    tool("query_facts", subject=take("subject"))
    tool("list_entities", q=take("entity"))
    tool("record_turn", role="user", text=f"My cat is called {take('turn')}.", session_id=take("session"))
    name, graph = take("name of an entity"), "/v1/mcp/graph"
    entity = {"name": name, "entityType": take("type of an entity"), "observations": [take("observation")]}
    relation = {"from": name, "to": take("end of a relation"), "relationType": take("type of a relation")}
    tool("create_entities", graph, entities=[entity])
    tool("create_relations", graph, relations=[relation])
    tool("add_observations", graph, observations=[{"entityName": name, "contents": [take("observation")]}])
    tool("add_observations", graph, observations=[{"entityName": take("unknown entity"), "contents": ["x"]}])
    tool("search_nodes", graph, query=take("query of a graph"))
    tool("open_nodes", graph, names=[name, take("unknown entity")])
    tool("delete_relations", graph, relations=[relation])
    ask("prompts/get", name="recall", arguments={"topic": take("topic")})
    ask("completion/complete", ref={"type": "ref/prompt", "name": "recall"},
        argument={"name": "topic", "value": take("begun topic")})  # fmt: skip
    ask("resources/read", uri=f"memsync://memories/{take('resource')}")
    ask(take("method"))
    tool(take("tool"), **{take(NAME): take("argument")})
    tool("get_memory", id=take("wrong id"))
    post({"jsonrpc": "2.0", "id": take("request id"), "method": "ping"})
    post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **{"Mcp-Session-Id": take("session id")})
    _reply(visitor, memory_id, headers)


def _reply(visitor: Visitor, memory_id: str, headers: dict[str, str]) -> None:
    """To what a tool asks while it runs, and once more to nothing."""
    take = visitor.family.take
    begin = {"protocolVersion": VERSION, "capabilities": {"elicitation": {"url": {}}}, "clientInfo": {"name": "x"}}
    begun = visitor.call("POST", "/v1/mcp", json=request_of("initialize", begin), headers=headers)
    own = headers | {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
    call = request_of("tools/call", {"name": "delete_memory", "arguments": {"id": memory_id}})
    sent = own | {"X-API-Key": visitor.key, "X-End-User-ID": "alice"}
    with visitor.http.stream("POST", "/v1/mcp", json=call, headers=sent) as stream:
        lines = (line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: "))
        asked = json.loads(next(lines))
        for request_id in (asked["id"], take("reply to nothing")):
            result = {"action": "accept", "content": {take("key of a reply"): take("reply")}}
            reply = {"jsonrpc": "2.0", "id": request_id, "result": result}
            assert visitor.call("POST", "/v1/mcp", json=reply, headers=own).status_code == 202
        assert json.loads(next(lines))["result"]["isError"] is True


def request_of(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
