"""What the protocol's conformance suite asks a server for: served where MCP_ADDITIONS names this module."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.core import signing

from apps.api.mcp.catalogue import (
    Catalogue,
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
    _tool("test_logging_tool", _gives(_text("Nothing is logged where no level is asked for."))),
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
