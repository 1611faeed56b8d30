"""A project that is deleted while another request adds to it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.api.memory import add as adding
from apps.apikeys.onboarding import OpenedTenant
from apps.core.scoping import tenant_transaction
from apps.erasure.projects import delete_project
from apps.memories.models import Memory
from apps.projects.scope import Environment
from tests.api.conftest import Caller
from tests.makers import make_project

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)


def test_add_that_a_delete_of_its_project_overtakes_is_refused_and_stores_nothing(
    acme: OpenedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, remember_for = make_project(acme.scope, "Support"), adding.remember_for

    def after_the_delete(*arguments: Any, **options: Any) -> Any:
        delete_project(acme.scope, project, now=datetime.now(UTC))
        return remember_for(*arguments, **options)

    monkeypatch.setattr(adding, "remember_for", after_the_delete)
    caller = Caller(acme.keys[Environment.PRODUCTION], "alice").with_headers(X_Project_ID=project)

    answer = caller("POST", "/memory/add", {"text": "The spare key lies under the blue flower pot."})

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "REFERENCE_DELETED")
    with tenant_transaction(acme.scope):
        assert not Memory.objects.within_tenant(acme.scope).exists()
