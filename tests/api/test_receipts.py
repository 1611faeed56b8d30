"""GET /v1/receipts: a tenant has its receipts, checks them with the keys beside them, and sees no other's."""

import json

import pytest
from django.utils import timezone

from apps.apikeys.onboarding import OpenedTenant
from apps.core.plaintext import Plaintext
from apps.erasure.targets import Target
from apps.erasure.workflow import Authorisation, start_erasure
from apps.ingest.candidates import Proposal
from apps.ingest.services import remember
from apps.projects.scope import Principal
from apps.transparency.receipts import read_keys, verify
from tests.api.conftest import Caller
from tests.makers import make_api_key, make_scope

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")

WORD = Authorisation(principal=Principal(kind="account", id=3), method="session+totp", step_up_age_s=12)


def reader(tenant: OpenedTenant) -> Caller:
    return Caller(make_api_key(tenant.scope, scopes=["receipts:read"]).text, end_user=None)


def erased(tenant: OpenedTenant, text: str) -> tuple[int, str]:
    """The memory's id and the receipt's."""
    now = timezone.now()
    (outcome,) = remember(make_scope(tenant), [Proposal(text=Plaintext(text), importance=0.6)], now=now)
    (memory_id,) = outcome.memory_ids
    done = start_erasure(tenant.scope, Target.memories([memory_id]), authorised=WORD, now=now)
    return memory_id, done.receipts[0].id


def test_a_receipt_is_fetched_with_its_keys_and_is_genuine(acme: OpenedTenant) -> None:
    caller = reader(acme)
    memory_id, receipt = erased(acme, "My dog Biscuit sleeps on the blue sofa.")

    file = caller("GET", f"/v1/receipts/{receipt}?since=1").json()

    keys = read_keys(json.dumps(caller("GET", "/v1/receipt-keys").json()).encode())
    older = file["log"]["checkpoint"]
    genuine = verify(json.dumps(file).encode(), keys, target=f"memories:{memory_id}", older=older)
    assert genuine.receipt["authorised"]["step_up_age_s"] == 12
    erased(acme, "I live in Lisbon.")
    file = caller("GET", f"/v1/receipts/{receipt}?since=1").json()
    assert verify(json.dumps(file).encode(), keys, older=older).receipt == genuine.receipt


def test_receipts_come_in_pages_newest_first_and_only_to_their_tenant(acme: OpenedTenant, globex: OpenedTenant) -> None:
    ours = [erased(acme, text)[1] for text in ("I live in Lisbon.", "My dog is Biscuit.", "I like tea a lot.")]
    theirs = erased(globex, "I live in Lisbon.")[1]
    caller = reader(acme)

    first = caller("GET", "/v1/receipts?limit=2").json()
    second = caller("GET", f"/v1/receipts?limit=2&cursor={first['next_cursor']}").json()

    assert [one["id"] for one in (*first["receipts"], *second["receipts"])] == ours[::-1]
    assert second["next_cursor"] is None
    foreign, absent = (caller("GET", f"/v1/receipts/{one}") for one in (theirs, "rcp_" + "0" * 32))
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "RECEIPT_NOT_FOUND")
    assert absent.status_code == 404
    assert caller("GET", "/v1/receipts/nothing").status_code == 404
    assert [one["id"] for one in reader(globex)("GET", "/v1/receipts").json()["receipts"]] == [theirs]


def test_a_project_that_is_not_there_is_refused_also_where_none_matters(acme: OpenedTenant) -> None:
    response = reader(acme).with_headers(X_Project_ID="proj_none")("GET", "/v1/receipt-keys")

    assert (response.status_code, response.json()["error"]["code"]) == (404, "PROJECT_NOT_FOUND")
