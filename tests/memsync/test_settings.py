"""A setting that cannot be meant stops the start with one line, which names it, its value and what is allowed."""

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import Error
from django.core.exceptions import ImproperlyConfigured

from apps.adapters.checks import check_classifier, check_embedder
from apps.adapters.instances import make_adapters
from apps.policies.retention import BOUNDS
from memsync import adapter_settings
from memsync import settings as product_settings
from memsync.env import env_float, env_int, env_json, env_list, env_networks
from memsync.launcher.embedded.errors import Misconfigured
from memsync.launcher.worker_count import worker_processes
from memsync.loading import exit_if_misconfigured

NEEDED = {
    "SECRET_KEY": "x" * 50,
    "DATABASE_URL": "postgres://a@127.0.0.1:1/a",
    "KEYRING_URL": "postgres://a@127.0.0.1:1/b",
}


def run(*program: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "MEMSYNC_HOME": "/nonexistent", "PYTHONPATH": os.getcwd(), **NEEDED, **settings}
    command = [sys.executable, "-m", *program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def read_settings() -> None:
    for module in (adapter_settings, product_settings):
        runpy.run_path(module.__file__)


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("KEY_MAX_AGE_DAYS", "0", "KEY_MAX_AGE_DAYS is '0'; it is a whole number from 1 to 36,500."),
        ("KMS_OPTIONS", "{", 'KMS_OPTIONS is no JSON object, such as {"name": "value"}.'),
    ],
)
def test_command_says_in_one_line_which_setting_is_wrong(name: str, value: str, refusal: str) -> None:
    told = run("memsync.cli", "tenant", "list", **{name: value})

    assert (told.returncode, told.stdout, told.stderr) == (1, "", f"memsync: {refusal}\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RETENTION_DAYS", "-1"),
        ("RETENTION_DAYS", str(BOUNDS["active_days"][1] + 1)),
        ("RETENTION_ARCHIVE_DAYS", str(BOUNDS["archive_days"][1] + 1)),
        ("RETENTION_BATCH", "0"),
        ("RECALL_CONCURRENCY", "-1"),
        ("RECALL_MIN_RELEVANCE", "1.1"),
        ("RECALL_MIN_RELEVANCE", "nan"),
        ("RERANKER_TEXTS", "0"),
        ("RERANKER_SECONDS", "0"),
        ("WEBHOOK_NETWORKS", "10.0.0.0/8,intranet"),
        ("CONNECTOR_NETWORKS", "unix"),
    ],
)
def test_setting_out_of_its_range_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=f"^{name} "):
        read_settings()


@pytest.mark.parametrize(
    ("name", "check", "refusal"),
    [("EMBEDDER", check_embedder, "memsync.E015"), ("CLASSIFIER", check_classifier, "memsync.E016")],
)
@pytest.mark.parametrize("backend", ["nothing", "apps.adapters.nothing.Here", "apps.adapters.kms.local.LocalKeyring"])
def test_model_that_cannot_be_made_is_found_and_stops_the_start(
    settings: Any, name: str, check: Callable[..., list[Error]], refusal: str, backend: str
) -> None:
    setattr(settings, name, {"BACKEND": backend, "OPTIONS": {"cache_dir": "/nonexistent"}})

    assert [error.id for error in check(None)] == [refusal]
    with pytest.raises(SystemExit, match=f"^memsync: {name}"), exit_if_misconfigured():
        make_adapters()


@pytest.mark.parametrize("program", [["memsync.cli", "prepare"], ["memsync.launcher.workers"]])
def test_program_says_which_adapter_is_wrong_before_it_starts(program: list[str]) -> None:
    told = run(*program, ALLOW_LOCAL_KEK="1", EMBEDDER_BACKEND="apps.adapters.nothing.Here")

    assert told.returncode == 1
    assert told.stderr.splitlines()[-1].startswith("memsync: EMBEDDER_BACKEND names no class that can be imported: ")


@pytest.mark.parametrize("text", ["", "1", "5"])
def test_number_in_its_range_is_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_NUMBER", text)

    assert env_int("ANY_NUMBER", 3, (1, 5)) == int(text or 3)
    assert env_float("ANY_NUMBER", 3.5, (1, 5)) == float(text or 3.5)


@pytest.mark.parametrize("text", ["0", "6", "six", "1.5x", "nan", "9" * 5_000])
def test_number_out_of_its_range_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_NUMBER", text)

    with pytest.raises(ImproperlyConfigured, match="from 1 to 5"):
        env_int("ANY_NUMBER", 3, (1, 5))
    with pytest.raises(ImproperlyConfigured, match="from 1 to 5"):
        env_float("ANY_NUMBER", 3.5, (1, 5))


def test_blanks_around_listed_values_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_LIST", " dense, lexical ,,")
    monkeypatch.setenv("ANY_NETWORKS", "10.20.0.0/16, 10.0.0.5/8")

    assert env_list("ANY_LIST") == ["dense", "lexical"]
    assert env_list("NO_LIST", ["slot"]) == ["slot"]
    assert env_networks("ANY_NETWORKS") == ["10.20.0.0/16", "10.0.0.0/8"]


@pytest.mark.parametrize("text", ["{", "[1]", "token-9a1c"])
def test_options_that_are_no_object_are_refused_and_not_quoted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_OPTIONS", text)

    with pytest.raises(ImproperlyConfigured) as refused:
        env_json("ANY_OPTIONS", {})

    assert str(refused.value) == 'ANY_OPTIONS is no JSON object, such as {"name": "value"}.'


@pytest.mark.parametrize("text", ["0", "-1", "two", "65"])
def test_number_of_workers_out_of_its_range_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER_PROCESSES", text)

    with pytest.raises(Misconfigured, match=r"WORKER_PROCESSES is .* from 1 to 64"):
        worker_processes()
