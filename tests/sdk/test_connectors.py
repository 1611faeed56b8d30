"""Every connector method of the published clients is called: each is empty, not found or not implemented."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from memorysync import AsyncMemorySyncClient, MemorySyncClient, NotFoundError, ServerError
from memorysync.control_plane import ControlPlaneClient

from apps.apikeys.onboarding import OpenedTenant
from apps.projects.scope import Environment
from tests import once
from tests.sdk.conftest import SERVER, Make, Recording, Replaying

pytestmark = pytest.mark.django_db(databases="__all__")
cast, acme, globex = once.cast, once.acme, once.globex

NAMESPACES = ("connections", "objects", "providers", "sync_jobs", "integrations")
GIVEN = {"credentials": {"token": "x"}, "channels": ["C1"], "prefixes": ["p/"], "url": "https://example.com"}


def methods(holder: object, name: str) -> Iterator[str]:
    """Dotted names of all methods below the holder."""
    for each in dir(holder):
        if each.startswith("_"):
            continue
        found = getattr(holder, each)
        if inspect.ismethod(found):
            yield f"{name}.{each}"
        elif type(found).__module__.startswith("memorysync"):
            yield from methods(found, f"{name}.{each}")


def every_method() -> list[str]:
    with MemorySyncClient("key", "http://nowhere") as client:
        return [found for namespace in NAMESPACES for found in methods(getattr(client, namespace), namespace)]


def arguments(method: Any) -> list[Any]:
    required = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
    return [GIVEN.get(one.name, "1") for one in required if one.kind is one.POSITIONAL_OR_KEYWORD]


def called(client: Any, name: str) -> Any:
    for part in name.split("."):
        client = getattr(client, part)
    return client(*arguments(client))


def outcome(answer: Any) -> int:
    """200 for something with nothing in it, or the status of the refusal."""
    if isinstance(answer, Exception):
        error: Any = answer
        assert error.request_id == error.response["request_id"]
        return int(error.status_code)
    held = answer.values() if isinstance(answer, dict) else answer
    assert not [value for value in held if isinstance(value, list) and value]
    return 200


def sync_answers(key: str, names: list[str], transport: Recording) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    with MemorySyncClient(key, SERVER, end_user_id="alice", transport=transport) as client:
        for name in names:
            try:
                answers[name] = called(client, name)
            except (NotFoundError, ServerError) as refused:
                answers[name] = refused
    return answers


def async_answers(key: str, names: list[str], transport: Replaying) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with AsyncMemorySyncClient(key, SERVER, end_user_id="alice", transport=transport) as client:
            return {name: await _caught(called(client, name)) for name in names}

    return asyncio.run(ask())


async def _caught(answer: Any) -> Any:
    try:
        return await answer
    except (NotFoundError, ServerError) as refused:
        return refused


def test_every_connector_method_is_answered(acme: OpenedTenant) -> None:
    names = every_method()
    assert len(names) == 80

    key, transport = acme.keys[Environment.PRODUCTION], Recording()
    answers = sync_answers(key, names, transport)
    of_async = async_answers(key, names, Replaying(transport.exchanges))

    found = {name: outcome(answer) for name, answer in answers.items()}
    assert {name: outcome(answer) for name, answer in of_async.items()} == found
    assert set(found.values()) == {200, 404, 501}
    assert found["connections.list"] == found["integrations.catalog"] == found["providers.list"] == 200
    assert found["connections.get"] == found["objects.history"] == found["connections.slack.channels"] == 404
    assert found["connections.oauth.initiate"] == found["integrations.web_crawler.crawl"] == 501


def test_control_plane_client_is_told_of_a_plan_without_limits_and_of_no_integrations(
    published: Make, acme: OpenedTenant
) -> None:
    client = published(ControlPlaneClient, SERVER, access_token=acme.keys[Environment.PRODUCTION])
    plan, integrations = client.get_current_plan(), client.list_integrations()

    assert integrations == []
    assert "self_hosted" in repr(plan)
