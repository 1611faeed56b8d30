"""What the protocol's conformance suite asks a server for: served where MCP_ADDITIONS names this module."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.core import signing

from apps.api.mcp.catalogue import (
    Catalogue,
    ClientRequest,
    InputRequired,
    Notification,
    Prompt,
    Resource,
    Steps,
    Tool,
    ToolResult,
    as_text,
)
from apps.api.mcp.protocol import CAPABILITY_MISSING, INVALID_PARAMS, RpcError
from apps.api.mcp.session import ToolSession

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND: Final = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
IMAGE: Final = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
TEXT: Final = {"type": "string"}


def _resource(uri: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _gives(*content: Mapping[str, Any], is_error: bool = False) -> Any:
    return lambda session, given: ToolResult(content=content, is_error=is_error)


def _needs_sampling(session: ToolSession, given: Mapping[str, Any]) -> ToolResult:
    if "sampling" not in session.call.capabilities:
        raise RpcError(CAPABILITY_MISSING, "This tool needs sampling.", data={"requiredCapabilities": {"sampling": {}}})
    return ToolResult.text("ok")


def _ask(name: str, request: Mapping[str, Any], *, state: str | None = None) -> InputRequired:
    return InputRequired(requests={name: request}, state=state)


def _form(message: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return {"method": "elicitation/create",
            "params": {"mode": "form", "message": message, "requestedSchema": schema}}  # fmt: skip


NAME: Final = _form("What is your name?", {"name": TEXT}, ["name"])
COLOUR: Final = _form("What is your favorite color?", {"color": TEXT}, ["color"])
CONFIRM: Final = _form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])
QUESTION: Final = {"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}
SAMPLING: Final = {"method": "sampling/createMessage", "params": {"messages": [QUESTION], "maxTokens": 100}}
ROOTS: Final = {"method": "roots/list", "params": {}}


def _rounds(*rounds: Mapping[str, Any], said: str = "Done.") -> Any:
    """A tool that asks in rounds, and counts them in a signed state."""

    def run(session: ToolSession, given: Mapping[str, Any]) -> ToolResult | InputRequired:
        answered, state = session.call.params.get("inputResponses"), session.call.params.get("requestState")
        done = 0
        if state is not None:
            try:
                done = signing.loads(str(state), salt="rounds") + 1
            except signing.BadSignature:
                raise RpcError(INVALID_PARAMS, "requestState was changed.") from None
        if done and not (isinstance(answered, Mapping) and answered.keys() >= rounds[done - 1].keys()):
            done -= 1
        if done < len(rounds):
            return InputRequired(requests=rounds[done], state=signing.dumps(done, salt="rounds"))
        return ToolResult.text(f"{said} {answered}")

    return run


def _with_progress(session: ToolSession, given: Mapping[str, Any]) -> Steps:
    for progress in (0, 50, 100):
        yield Notification.progress(session, progress, 100)
    return ToolResult.text("Done in three steps.")


def _with_logging(session: ToolSession, given: Mapping[str, Any]) -> Steps:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        yield Notification.log("info", text)
    return ToolResult.text("Done, and logged.")


def _asks(request: Mapping[str, Any], said: str) -> Any:
    """A tool that asks a client of before 2026-07-28 while it runs."""

    def run(session: ToolSession, given: Mapping[str, Any]) -> ToolResult | Steps:
        capability = request["method"].partition("/")[0]
        if not session.can_ask or capability not in session.call.capabilities:
            return ToolResult.text(f"This tool needs {capability}.", is_error=True)
        return _asking(given)

    def _asking(given: Mapping[str, Any]) -> Steps:
        params = dict(request["params"])
        if "message" in given:
            params["message"] = given["message"]
        if "prompt" in given:
            params["messages"] = [{"role": "user", "content": _text(given["prompt"])}]
        reply = yield ClientRequest(method=request["method"], params=params)
        return ToolResult.text(f"{said}: {reply}", is_error=reply is None)

    return run


def _one_of(*values: str) -> list[dict[str, str]]:
    return [{"const": value, "title": value.title()} for value in values]


USER: Final = _form("Who are you?", {"username": TEXT, "email": TEXT}, ["username", "email"])
DEFAULTS: Final = _form(
    "Please check",
    {
        "name": TEXT | {"default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": TEXT | {"enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
)
ENUMS: Final = _form(
    "Please choose",
    {
        "untitledSingle": TEXT | {"enum": ["option1", "option2", "option3"]},
        "titledSingle": TEXT | {"oneOf": _one_of("value1", "value2", "value3")},
        "legacyEnum": TEXT | {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": TEXT | {"enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": _one_of("value1", "value2", "value3")}},
    },
)


def _tool(name: str, run: Any, **declared: Any) -> Tool:
    return Tool(name=name, title=name, description=f"Fixture: {name}.", run=run, **declared)


TOOLS: Final = [
    _tool("test_simple_text", _gives(_text("This is a simple text response for testing."))),
    _tool("test_image_content", _gives(IMAGE)),
    _tool("test_audio_content", _gives({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})),
    _tool(
        "test_embedded_resource",
        _gives(_resource("test://embedded-resource", "This is an embedded resource content.")),
    ),
    _tool(
        "test_multiple_content_types",
        _gives(_text("Multiple content types test:"), IMAGE, _resource("test://mixed-content-resource", '{"test": 1}')),
    ),
    _tool("test_error_handling", _gives(_text("This tool intentionally returns an error for testing"), is_error=True)),
    _tool("test_missing_capability", _needs_sampling),
    _tool("test_tool_with_progress", _with_progress),
    _tool("test_logging_tool", _with_logging),
    _tool("test_tool_with_logging", _with_logging),
    _tool("test_sampling", _asks(SAMPLING, "LLM response"), arguments={"prompt": TEXT}, required=["prompt"]),
    _tool("test_elicitation", _asks(USER, "User response"), arguments={"message": TEXT}, required=["message"]),
    _tool("test_elicitation_sep1034_defaults", _asks(DEFAULTS, "Elicitation completed")),
    _tool("test_elicitation_sep1330_enums", _asks(ENUMS, "Elicitation completed")),
    _tool("test_streaming_elicitation", lambda session, given: _ask("user_name", NAME)),
    _tool("test_input_required_result_elicitation", _rounds({"user_name": NAME})),
    _tool("test_input_required_result_sampling", _rounds({"capital_question": SAMPLING})),
    _tool("test_input_required_result_list_roots", _rounds({"client_roots": ROOTS})),
    _tool("test_input_required_result_request_state", _rounds({"confirm": CONFIRM}, said="state-ok")),
    _tool(
        "test_input_required_result_multiple_inputs",
        _rounds({"user_name": NAME, "greeting": SAMPLING, "client_roots": ROOTS}),
    ),
    _tool("test_input_required_result_multi_round", _rounds({"step1": NAME}, {"step2": COLOUR})),
    _tool("test_input_required_result_tampered_state", _rounds({"confirm": CONFIRM})),
    _tool("test_input_required_result_capabilities", lambda session, given: _ask("capital_question", SAMPLING)),
    _tool(
        "test_x_mcp_header",
        lambda session, given: ToolResult.text(str(given.get("region", ""))),
        arguments={"region": TEXT | {"x-mcp-header": "Region"}},
        required=["region"],
    ),
]


def _with_context(session: ToolSession, given: Mapping[str, str]) -> Any:
    if "inputResponses" not in session.call.params:
        return _ask("user_context", _form("What context should the prompt use?", {"context": TEXT}, ["context"]))
    return _user(_text("With the context that was given."))


def _prompt(name: str, messages: Any, **declared: Any) -> Prompt:
    return Prompt(name=name, title=name, description=f"Fixture: {name}.", messages=messages, **declared)


def _user(*content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": one} for one in content]


CATALOGUE: Final = Catalogue(
    instructions="",
    logs=True,
    tools={one.name: one for one in TOOLS},
    resources=[
        Resource(
            uri="test://static-text", name="static-text", title="text", description="Fixture.", mime_type="text/plain",
            read=lambda session, named: [as_text("This is the content of the static text resource.")],
        ),
        Resource(
            uri="test://static-binary", name="static-binary", title="binary", description="Fixture.",
            mime_type="image/png", read=lambda session, named: [{"mimeType": "image/png", "blob": PIXEL}],
        ),
        Resource(
            uri="test://template/{id}/data", name="template", title="template", description="Fixture.",
            mime_type="application/json",
            read=lambda session, named: [{
                "mimeType": "application/json",
                "text": f'{{"id": "{named["id"]}", "templateTest": true, "data": "Data for ID: {named["id"]}"}}'}],
        ),
    ],
    prompts={
        one.name: one
        for one in (
            _prompt(
                "test_simple_prompt", lambda session, given: _user(_text("This is a simple prompt for testing."))
            ),
            _prompt(
                "test_prompt_with_arguments",
                lambda session, given: _user(
                    _text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
                ),
                arguments={"arg1": "First.", "arg2": "Second."},
                required=["arg1", "arg2"],
            ),
            _prompt(
                "test_prompt_with_embedded_resource",
                lambda session, given: _user(
                    _resource(given["resourceUri"], "Embedded resource content for testing."),
                    _text("Please process the embedded resource above."),
                ),
                arguments={"resourceUri": "Address."},
                required=["resourceUri"],
            ),
            _prompt(
                "test_prompt_with_image",
                lambda session, given: _user(IMAGE, _text("Please analyze the image above.")),
            ),
            _prompt("test_input_required_result_prompt", _with_context),
        )
    },
)  # fmt: skip
