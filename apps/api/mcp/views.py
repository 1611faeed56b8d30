"""POST /v1/mcp: the Model Context Protocol.  Answers are JSON, or a stream where a tool tells or asks something."""

from collections.abc import Callable, Generator, Mapping
from typing import IO, Any, ClassVar, Final, cast

from django.conf import settings
from django.http import StreamingHttpResponse
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import parsers
from apps.api.input_serializers import Input
from apps.api.mcp import legacy_sessions
from apps.api.mcp.asking import take_reply
from apps.api.mcp.catalogue import Catalogue, InputRequired, Resource, Steps, catalogue_of
from apps.api.mcp.logging_levels import set_level
from apps.api.mcp.protocol import (
    INVALID_PARAMS,
    LEGACY,
    METHOD_NOT_FOUND,
    MODERN,
    RpcError,
    check_header,
    is_reply,
    read_call,
    read_message,
)
from apps.api.mcp.session import STREAM, RouteFailed, TooFewRights, ToolSession
from apps.api.mcp.streams import INFO, answer, events, failed, is_streamed, messages
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.core.errors import DomainError, Forbidden

MOST_COMPLETIONS: Final = 100
TTL_MS: Final = 3_600_000  # of lists, which change with the server's version alone
INITIALIZE: Final = "initialize"
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}


class OriginRefused(Forbidden):
    """Pages of this origin may not call the server: add it to CSRF_TRUSTED_ORIGINS."""

    code = "ORIGIN_REFUSED"


class RawParser(BaseParser):
    """The body as bytes, within the limit of its size."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return parsers.read_within_limit(stream, parser_context or {})


class McpView(ApiView):
    """catalogue: the module with what this address serves."""

    catalogue: ClassVar[str]
    permissions: ClassVar = {"POST": "memory:read"}  # the routes that a tool calls check what else they need
    parser_classes = (RawParser,)
    schema = None  # type: ignore[assignment]  # JSON-RPC is described by its own protocol

    @operation("mcp", request=Input)
    def post(self, request: Request) -> Response | StreamingHttpResponse:
        _check_origin(request)
        call_id: Any = None
        is_modern = True
        session_id = request.headers.get(legacy_sessions.HEADER)
        try:
            message = read_message(cast("bytes", request.data), may_reply=session_id is not None)
            if session_id is not None and is_reply(message):
                legacy_sessions.check(session_id, self.caller)
                take_reply(self, message)
                return Response(status=202)
            call_id = message.get("id")
            call = read_call(message, request.headers)
            is_modern = call.is_modern
            if session_id is not None and not is_modern and call.method != INITIALIZE:
                call = legacy_sessions.resumed(call, session_id, self.caller)
            session = ToolSession(request=request, call=call, view=self)
            if call.is_notification:
                return Response(status=202)
            found = self._found(session)
        except RpcError as error:
            body = {"jsonrpc": "2.0", "id": call_id, "error": error.body()}
            return Response(body, status=error.status if is_modern else 200)
        if isinstance(found, Generator):
            return _told(session, found)
        begun = call.method == INITIALIZE and not is_modern
        headers = {legacy_sessions.HEADER: legacy_sessions.begin(call, self.caller)} if begun else None
        return Response(answer(call, found), headers=headers)

    def _found(self, session: ToolSession) -> dict[str, Any] | Steps:
        served = catalogue_of(self.catalogue)
        method = session.call.method
        routed: Mapping[str, Callable[[ToolSession, Catalogue], dict[str, Any] | Steps]] = {
            "tools/call": _call_tool,
            "resources/read": _read_resource,
            "prompts/get": _get_prompt,
            "completion/complete": _complete,
        }
        if method in routed:
            return routed[method](session, served)
        of_era = MODERN_METHODS if session.call.is_modern else LEGACY_METHODS
        if method not in of_era:
            raise _not_served()
        result = of_era[method](session, served)
        if session.call.is_modern:
            result |= {"ttlMs": TTL_MS, "cacheScope": "public"}
        return result


class GraphMcpView(McpView):
    """Tools of the protocol's reference memory server."""

    catalogue = "apps.api.mcp.graph"


class TypedMcpView(McpView):
    """Tools for typed memories in profiles."""

    catalogue = "apps.api.mcp.typed"


def _told(session: ToolSession, steps: Steps) -> Response | StreamingHttpResponse:
    if is_streamed(session):
        told = messages(session, steps, is_streamed=True)
        # nginx would otherwise wait for more before it passes anything on.
        return StreamingHttpResponse(events(told), content_type=STREAM, headers={"X-Accel-Buffering": "no"})
    *_, last = messages(session, steps, is_streamed=False)
    return Response(last, status=400 if session.call.is_modern and "error" in (last or {}) else 200)


def _check_origin(request: Request) -> None:
    """Raises OriginRefused for a page of another origin, whose user would not know of the call."""
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    if origin is not None and origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise OriginRefused


# --- methods ----------------------------------------------------------------------------------------------------------


def _capabilities(served: Catalogue) -> dict[str, Any]:
    return CAPABILITIES | ({"logging": {}} if served.logs else {})


def _initialize(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    asked = session.call.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in LEGACY else LEGACY[0],
        "capabilities": _capabilities(served),
        "serverInfo": INFO,
        "instructions": served.instructions,
    }


def _discover(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    return {
        "supportedVersions": [*MODERN, *LEGACY],
        "capabilities": _capabilities(served),
        "instructions": served.instructions,
    }


def _list_tools(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    return {"tools": [one.described() for one in served.tools.values()]}


def _list_prompts(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    return {"prompts": [one.described() for one in served.prompts.values()]}


def _list_resources(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    return {"resources": [one.described() for one in served.resources if not one.is_template]}


def _list_templates(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    return {"resourceTemplates": [one.described() for one in served.resources if one.is_template]}


def _set_level(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    if not served.logs:
        raise _not_served()
    set_level(session)
    return {}


def _not_served() -> RpcError:
    return RpcError(METHOD_NOT_FOUND, "This method is not served.", status=404)


Method = Callable[[ToolSession, Catalogue], dict[str, Any]]


def _in_one_page(listed: Method) -> Method:
    """The list, which has no further pages, so that no cursor is valid."""

    def answer(session: ToolSession, served: Catalogue) -> dict[str, Any]:
        if session.call.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "No such cursor: each list is one page.")
        return listed(session, served)

    return answer


LISTS: Final[Mapping[str, Method]] = {
    "tools/list": _in_one_page(_list_tools),
    "prompts/list": _in_one_page(_list_prompts),
    "resources/list": _in_one_page(_list_resources),
    "resources/templates/list": _in_one_page(_list_templates),
}
MODERN_METHODS: Final[Mapping[str, Method]] = {"server/discover": _discover, **LISTS}
LEGACY_METHODS: Final[Mapping[str, Method]] = {
    INITIALIZE: _initialize,
    "ping": lambda session, served: {},
    "logging/setLevel": _set_level,
    **LISTS,
}


def _call_tool(session: ToolSession, served: Catalogue) -> dict[str, Any] | Steps:
    params = session.call.params
    tool = served.tools.get(str(params.get("name")))
    if tool is None:
        raise RpcError(INVALID_PARAMS, "No such tool.")
    arguments = params.get("arguments", {})
    if not isinstance(arguments, Mapping):
        raise RpcError(INVALID_PARAMS, "arguments is an object.")
    given = tool.read(arguments)
    if session.call.is_modern:
        _check_argument_headers(session, tool.arguments, arguments)
    try:
        found = tool.run(session, given)
    except TooFewRights:
        raise
    except (RouteFailed, DomainError) as refused:
        return failed(refused)
    return found if isinstance(found, Generator) else found.body()


def _check_argument_headers(
    session: ToolSession, declared: Mapping[str, Mapping[str, Any]], arguments: Mapping[str, Any]
) -> None:
    """A schema may name a header that repeats an argument, for proxies that route by it."""
    for name, schema in declared.items():
        if (header := schema.get("x-mcp-header")) and name in arguments:
            check_header(session.request.headers, f"Mcp-Param-{header}", str(arguments[name]))


def _read_resource(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    uri = session.call.params.get("uri")
    resource, named = _resource(served, uri) if isinstance(uri, str) else (None, {})
    if resource is None:
        raise RpcError(INVALID_PARAMS, "No such resource.")
    try:
        contents = resource.read(session, named)
    except RouteFailed as refused:
        raise RpcError(INVALID_PARAMS, refused.message) from None
    result: dict[str, Any] = {"contents": [{"uri": uri, **part} for part in contents]}
    return result | {"ttlMs": 0, "cacheScope": "private"} if session.call.is_modern else result


def _resource(served: Catalogue, uri: str) -> tuple[Resource | None, Mapping[str, str]]:
    for one in served.resources:
        if (named := one.matched(uri)) is not None:
            return one, named
    return None, {}


def _get_prompt(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    params = session.call.params
    prompt = served.prompts.get(str(params.get("name")))
    if prompt is None:
        raise RpcError(INVALID_PARAMS, "No such prompt.")
    arguments = params.get("arguments", {})
    is_text = isinstance(arguments, Mapping) and all(isinstance(one, str) for one in arguments.values())
    if not is_text or not prompt.arguments.keys() >= arguments.keys() >= set(prompt.required):
        raise RpcError(INVALID_PARAMS, f"arguments: strings, of {', '.join(prompt.arguments) or 'none'}.")
    try:
        messages = prompt.messages(session, arguments)
    except RouteFailed as refused:
        raise RpcError(INVALID_PARAMS, refused.message) from None
    if isinstance(messages, InputRequired):
        return messages.body()
    return {"description": prompt.description, "messages": list(messages)}


def _complete(session: ToolSession, served: Catalogue) -> dict[str, Any]:
    """Values of a prompt's argument; of a resource's, none."""
    ref, argument = session.call.params.get("ref"), session.call.params.get("argument")
    if not isinstance(ref, Mapping) or not isinstance(argument, Mapping):
        raise RpcError(INVALID_PARAMS, "Give ref and argument.")
    name, begun = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(begun, str):
        raise RpcError(INVALID_PARAMS, "argument has a name and a value.")
    prompt = served.prompts.get(str(ref.get("name"))) if ref.get("type") == "ref/prompt" else None
    try:
        values = list(prompt.complete(session, name, begun)) if prompt and name in prompt.arguments else []
    except RouteFailed:
        values = []
    shown = values[:MOST_COMPLETIONS]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}
