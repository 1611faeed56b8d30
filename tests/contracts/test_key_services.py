"""What the providers promise besides that ask a service over the network: time that is bounded, and nothing guessed."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.kms.aws import AwsKms
from apps.adapters.kms.base import KeyMismatch, KeyRefused, KeyUnavailable
from apps.adapters.kms.fake import FakeKms
from apps.adapters.kms.gcp import GoogleKms
from apps.adapters.kms.remote import ForkAware, call_within, require_tls
from apps.adapters.kms.vault import VaultTransit
from tests.contracts.key_providers import (
    CTX,
    KEY,
    PATIENCE_SECONDS,
    TIMEOUT_SECONDS,
    Service,
    aws,
    google,
    service_of,
    vault,
    warm,
)
from tests.fakes.kms.aws import FakeAws
from tests.fakes.kms.gcp import FakeGoogle, crc32c
from tests.fakes.kms.transit import FakeTransit

PATIENT: dict[str, Any] = {"timeout_seconds": PATIENCE_SECONDS}
MARGIN_SECONDS = 1.0  # what a busy machine may add
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k"


@pytest.fixture(params=["vault", "aws", "gcp"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    with service_of(request.param, tmp_path) as made:
        yield made


def seconds_to_fail(call: Callable[[], Any]) -> float:
    begun = time.monotonic()
    with pytest.raises(KeyUnavailable):
        call()
    return time.monotonic() - begun


# --- time -----------------------------------------------------------------------------------------------------------


def test_service_that_is_slow_is_given_up_on(case: Service) -> None:
    provider = case.hasty()
    wrapped = provider.wrap(KEY, CTX)
    case.service.slow_seconds = 30.0

    calls = (
        lambda: provider.wrap(KEY, CTX),
        lambda: provider.unwrap(wrapped, CTX),
        lambda: provider.rewrap(wrapped, CTX),
        provider.current_version,
        provider.health,
    )
    with ThreadPoolExecutor(len(calls)) as pool:  # they are waited for side by side
        assert max(pool.map(seconds_to_fail, calls)) < TIMEOUT_SECONDS + MARGIN_SECONDS


def test_service_whose_answer_drips_is_given_up_on(case: Service) -> None:
    """Each byte comes in time, and the whole would take a minute."""
    provider = case.hasty()
    wrapped = provider.wrap(KEY, CTX)
    case.service.drip_seconds = 0.3

    assert seconds_to_fail(lambda: provider.unwrap(wrapped, CTX)) < TIMEOUT_SECONDS + MARGIN_SECONDS


def test_a_call_of_several_requests_has_one_time_for_all(case: Service) -> None:
    provider = case.hasty()
    case.service.slow_seconds = TIMEOUT_SECONDS * 0.8

    assert seconds_to_fail(provider.health) < TIMEOUT_SECONDS + MARGIN_SECONDS


@pytest.mark.parametrize("fault", ["down", "slow", "throttled", "failing"])
def test_error_comes_within_two_seconds_of_the_products_own_timeout(case: Service, fault: str) -> None:
    provider = warm(case.made())
    wrapped = provider.wrap(KEY, CTX)
    if fault == "down":
        case.take_down()
    case.service.slow_seconds = 30.0 if fault == "slow" else 0.0
    case.service.throttled = fault == "throttled"
    case.service.fail_next = 1000 if fault == "failing" else 0

    with ThreadPoolExecutor(5) as pool:  # they are waited for side by side
        times = pool.map(lambda _: seconds_to_fail(lambda: provider.unwrap(wrapped, CTX)), range(5))

    assert max(times) < 2.0


def test_service_that_is_slow_once_is_asked_again_next_time(case: Service) -> None:
    provider = case.hasty()
    wrapped = provider.wrap(KEY, CTX)
    case.service.slow_seconds = 30.0
    assert seconds_to_fail(lambda: provider.unwrap(wrapped, CTX))

    case.service.slow_seconds = 0.0

    assert provider.unwrap(wrapped, CTX) == KEY


def test_fake_that_is_slow_is_given_up_on() -> None:
    fake = FakeKms(timeout_seconds=2)
    wrapped = fake.wrap(KEY, CTX)

    fake.answers_after_seconds = 1.9
    assert fake.unwrap(wrapped, CTX) == KEY

    fake.answers_after_seconds = 2.1
    with pytest.raises(KeyUnavailable):
        fake.unwrap(wrapped, CTX)
    assert fake.calls == {"wrap": 1, "unwrap": 2}


# --- trying again ---------------------------------------------------------------------------------------------------


def test_service_that_fails_once_or_twice_is_asked_again(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)

    for failures in (1, 2):
        case.service.fail_next = failures
        assert case.provider.unwrap(wrapped, CTX) == KEY


def test_service_that_goes_on_failing_is_asked_three_times(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.service.fail_next = 100

    with pytest.raises(KeyUnavailable):
        case.provider.unwrap(wrapped, CTX)

    assert case.service.fail_next == 97


def test_throttled_service_is_asked_again_later(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.service.throttled = True

    with pytest.raises(KeyUnavailable) as caught:
        case.provider.unwrap(wrapped, CTX)
    case.service.throttled = False

    assert not caught.value.permanent
    assert case.provider.unwrap(wrapped, CTX) == KEY


def test_caller_who_may_not_is_told_so_at_once(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    case.service.denied = True

    for call in (lambda: case.provider.wrap(KEY, CTX), lambda: case.provider.unwrap(wrapped, CTX)):
        with pytest.raises(KeyRefused, match="does not let memsync use") as caught:
            call()
        assert caught.value.permanent


def test_refusals_are_not_tried_again(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    before = case.service.calls.total()

    with pytest.raises(KeyMismatch):
        case.provider.unwrap(wrapped, {**CTX, "t": "globex"})

    assert case.service.calls.total() == before + 1


def test_many_threads_share_a_provider(case: Service) -> None:
    wrapped = case.provider.wrap(KEY, CTX)
    opened: list[bool] = []
    threads = [
        threading.Thread(target=lambda: opened.append(case.provider.unwrap(wrapped, CTX) == KEY)) for _ in range(12)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened == [True] * 12


def test_call_is_not_begun_again_when_its_time_is_over() -> None:
    begun: list[float] = []

    def fails() -> None:
        begun.append(time.monotonic())
        time.sleep(0.2)
        raise KeyUnavailable

    with pytest.raises(KeyUnavailable):
        call_within(0.1, fails)
    time.sleep(0.5)

    assert len(begun) == 1


def test_errors_of_a_call_arrive_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError):
        call_within(1.0, lambda: 1 // 0)


def test_forked_child_makes_its_own_client() -> None:
    made = ForkAware(object)
    parents = made.get()
    assert made.get() is parents

    child = os.fork()
    if child == 0:
        os._exit(0 if made.get() is not parents else 1)

    assert os.waitpid(child, 0)[1] == 0


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["http://vault.example.com", "http://10.0.0.1:8200", "ftp://127.0.0.1", "vault", ""])
def test_keys_travel_in_clear_to_no_other_machine(url: str, tmp_path: Path) -> None:
    for make in (
        lambda: require_tls(url),
        lambda: VaultTransit(key="k", url=url or "http://vault"),
        lambda: AwsKms(key_arn=ARN, endpoint_url=url or "http://kms"),
        lambda: GoogleKms(key=NAME, endpoint=url),
    ):
        with pytest.raises(ImproperlyConfigured, match="TLS"):
            make()


def test_redirect_is_not_followed(case: Service, tmp_path: Path) -> None:
    """To a server without TLS, or to a thief's: the key and the token would go along."""
    with service_of(case.name, tmp_path) as elsewhere:
        case.provider.health()
        case.service.redirect_to = elsewhere.service.url

        with pytest.raises(KeyUnavailable):
            case.provider.wrap(KEY, CTX)

        assert elsewhere.service.requests == 0


def test_tls_and_agents_on_this_machine_are_welcome() -> None:
    assert require_tls("https://vault.example.com/") == "https://vault.example.com"
    for url in ("http://127.0.0.1:8200", "http://[::1]:8200", "http://localhost:8200"):
        assert require_tls(url) == url


@pytest.mark.parametrize("key", ["alias/memsync", ARN.replace("key/", "alias/"), "1234abcd-12ab", ""])
def test_aws_key_that_could_become_another_is_refused(key: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="key_arn"):
        AwsKms(key_arn=key)


@pytest.mark.parametrize("key", ["kek", f"{NAME}/cryptoKeyVersions/1", f"{NAME}:encrypt/", ""])
def test_google_key_that_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="cryptoKeys/KEY"):
        GoogleKms(key=key)


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("vault", "hvac", "vault"),
        ("aws", "boto3", "aws"),
        ("gcp", "google_crc32c", "gcp"),
        ("gcp", "google.auth", "gcp"),
    ],
)
def test_missing_library_is_named_with_its_extra(module: str, library: str, extra: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; import apps.adapters.kms.{module}"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert "ImproperlyConfigured" in said.stderr
    assert f"pip install memsync[{extra}]" in said.stderr


# --- Vault ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def transit() -> Iterator[Service]:
    with vault() as made:
        yield made


def test_vault_keeps_tenants_apart_by_their_own_keys(transit: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The associated data alone would; so would the derived key alone."""
    wrapped = transit.provider.wrap(KEY, CTX)
    from apps.adapters.kms import vault as module

    both = module._bound(CTX)
    others = module._bound({**CTX, "t": "globex"})
    for mixed in ({**both, "context": others["context"]}, {**both, "associated_data": others["associated_data"]}):
        monkeypatch.setattr(module, "_bound", lambda ctx, mixed=mixed: mixed)
        with pytest.raises(KeyMismatch):
            transit.provider.unwrap(wrapped, CTX)


def test_vault_key_that_is_not_derived_is_not_used() -> None:
    with FakeTransit(derived=False) as fake:
        provider = VaultTransit(key=fake.key, url=fake.url, token=fake.token, **PATIENT)

        for call in (lambda: provider.wrap(KEY, CTX), provider.current_version, provider.health):
            with pytest.raises(KeyRefused, match="derived=true"):
                call()
        assert fake.calls["encrypt"] == 0


def test_vault_that_is_sealed_is_unavailable(transit: Service) -> None:
    assert isinstance(transit.service, FakeTransit)
    wrapped = transit.provider.wrap(KEY, CTX)
    transit.service.sealed = True

    with pytest.raises(KeyUnavailable):
        transit.provider.unwrap(wrapped, CTX)


def test_vault_token_is_read_again_when_an_agent_has_renewed_it(transit: Service, tmp_path: Path) -> None:
    fake, path = transit.service, tmp_path / "token"
    assert isinstance(fake, FakeTransit)
    path.write_text(fake.token + "\n")
    provider = VaultTransit(key=fake.key, url=fake.url, token_file=str(path), **PATIENT)
    wrapped = provider.wrap(KEY, CTX)

    fake.token = "renewed"
    with pytest.raises(KeyRefused):
        provider.unwrap(wrapped, CTX)
    path.write_text("renewed\n")

    assert provider.unwrap(wrapped, CTX) == KEY


def test_vault_token_file_that_is_missing_is_named(transit: Service, tmp_path: Path) -> None:
    fake = transit.service
    provider = VaultTransit(key="memsync", url=fake.url, token_file=str(tmp_path / "token"), **PATIENT)

    with pytest.raises(KeyUnavailable, match=r"token, which holds Vault's token"):
        provider.health()


def test_vault_is_found_where_its_own_tools_find_it(transit: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(transit.service, FakeTransit)
    monkeypatch.setenv("VAULT_ADDR", transit.service.url)
    monkeypatch.setenv("VAULT_TOKEN", transit.service.token)

    VaultTransit(key="memsync", **PATIENT).health()


def test_vault_key_that_does_not_exist_is_named(transit: Service) -> None:
    assert isinstance(transit.service, FakeTransit)
    wrapped = transit.provider.wrap(KEY, CTX)
    provider = VaultTransit(key="memsink", url=transit.service.url, token=transit.service.token, **PATIENT)

    with pytest.raises(KeyRefused, match="no transit key transit/memsink"):
        provider.wrap(KEY, CTX)
    with pytest.raises(KeyMismatch):
        provider.unwrap(wrapped, CTX)


def test_vaults_place_taken_by_something_else_is_seen(tmp_path: Path) -> None:
    """A proxy's page, or another service on the port."""
    with aws() as other:
        provider = VaultTransit(key="memsync", url=other.service.url, token="none", timeout_seconds=TIMEOUT_SECONDS)

        with pytest.raises((KeyUnavailable, KeyRefused)):
            provider.wrap(KEY, CTX)


# --- AWS ------------------------------------------------------------------------------------------------------------


def test_aws_context_is_readable_for_the_policy_and_the_audit_trail(monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.adapters.kms.aws import _context

    context = _context({"p": "service-pepper", "t": "", "d": "test"})

    assert {name: context[name] for name in ("p", "d")} == {"p": "service-pepper", "d": "test"}
    assert all(context.values())  # KMS may refuse an empty one
    assert context != _context({"p": "service-pepper", "d": "test"})


def test_aws_rewraps_without_showing_the_key() -> None:
    with aws() as case:
        wrapped = case.provider.wrap(KEY, CTX)
        case.add_version()
        opened = case.service.calls["Decrypt"]

        case.provider.rewrap(wrapped, CTX)

        assert case.service.calls["Decrypt"] == opened
        assert case.service.calls["ReEncrypt"] == 1


def test_aws_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with FakeAws() as fake:
        with pytest.raises(KeyRefused, match="no AWS credentials"):
            AwsKms(key_arn=fake.arn, endpoint_url=fake.url, **PATIENT).health()

        monkeypatch.setenv("AWS_ACCESS_KEY_ID", fake.access_key_id)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "only-for-tests")
        AwsKms(key_arn=fake.arn, endpoint_url=fake.url, **PATIENT).health()


def test_aws_credentials_of_somebody_else_are_refused() -> None:
    with FakeAws() as fake:
        provider = AwsKms(
            key_arn=fake.arn,
            endpoint_url=fake.url,
            access_key_id="SOMEBODYELSE",
            secret_access_key="none",
            **PATIENT,
        )

        with pytest.raises(KeyRefused):
            provider.health()


# --- Google ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Service]:
    with google(tmp_path) as made:
        yield made


def test_google_answer_that_was_changed_on_its_way_is_not_believed(cloud: Service) -> None:
    assert isinstance(cloud.service, FakeGoogle)
    wrapped = cloud.provider.wrap(KEY, CTX)
    cloud.service.changes_answers = True

    for call in (lambda: cloud.provider.unwrap(wrapped, CTX), lambda: cloud.provider.wrap(KEY, CTX)):
        with pytest.raises(KeyUnavailable, match="changed on its way"):
            call()


def test_google_that_did_not_check_what_it_was_sent_is_not_believed(cloud: Service) -> None:
    """What it has encrypted may be another key, which no one has."""
    assert isinstance(cloud.service, FakeGoogle)
    cloud.service.loses_fields = True

    with pytest.raises(KeyUnavailable, match="did not encrypt what it was sent"):
        cloud.provider.wrap(KEY, CTX)


def test_google_checks_what_it_is_sent(cloud: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that was changed on its way."""
    from apps.adapters.kms import gcp as module

    fields = module._fields
    monkeypatch.setattr(module, "_fields", lambda *sent: fields(*sent) | {"plaintext": "AAAA"})

    with pytest.raises(KeyRefused):
        cloud.provider.wrap(KEY, CTX)


def test_checksum_is_the_castagnoli_one() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_google_without_credentials_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.json").write_text("{}")
    for file in ("missing.json", "broken.json"):
        with pytest.raises(KeyRefused, match="no credentials"):
            GoogleKms(
                key=NAME, endpoint="http://127.0.0.1:9", credentials_file=str(tmp_path / file), **PATIENT
            ).health()


def test_google_is_found_where_its_own_tools_find_it(cloud: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(cloud.service, FakeGoogle)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", cloud.options["credentials_file"])

    GoogleKms(key=cloud.service.key, endpoint=cloud.service.url, **PATIENT).health()
