"""Every key provider, set up so that a test can turn its key and break its service, whatever stands behind it."""

import dataclasses
import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import botocore.session
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from apps.adapters.kms.aws import AwsKms
from apps.adapters.kms.base import KekProvider, KeyUnavailable
from apps.adapters.kms.fake import FakeKms
from apps.adapters.kms.gcp import GoogleKms
from apps.adapters.kms.local import LocalKeyring
from apps.adapters.kms.vault import VaultTransit
from tests.fakes.kms.aws import FakeAws
from tests.fakes.kms.gcp import FakeGoogle
from tests.fakes.kms.transit import FakeTransit
from tests.fakes.service import FakeService

KEY = bytes(range(32))
CTX = {"p": "tenant-root", "t": "acme", "v": "1", "d": "test"}
# The library reads its description of KMS for each client; here all of them share what the first has read.
botocore.session.create_loader = functools.cache(botocore.session.create_loader)

PATIENCE_SECONDS = 20.0
TIMEOUT_SECONDS = 0.6  # of providers that are made to wait; those of the product wait longer


class Case(Protocol):
    """A provider, and what an operator and bad luck may do to it.

    knows_versions: it can tell a version that it does not have from a blob that was changed.
    """

    knows_versions: bool

    @property
    def provider(self) -> KekProvider: ...

    def add_version(self) -> str: ...

    def forbid_first_version(self) -> None: ...

    def take_down(self) -> None: ...

    def bring_up(self) -> None: ...

    def another(self) -> KekProvider:
        """With another key, of the same kind."""

    def setting(self) -> dict[str, Any]:
        """``settings.KMS``, from which another process makes the same provider."""


class Local:
    knows_versions = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "kek.json"
        self.provider: KekProvider = LocalKeyring.create(self.path)

    def add_version(self) -> str:
        return LocalKeyring(path=self.path).add_version()

    def forbid_first_version(self) -> None:
        content = json.loads(self.path.read_text())
        del content["keys"]["1"]
        self.path.write_text(json.dumps(content))

    def take_down(self) -> None:
        self.path.rename(self.folder / "away.json")

    def bring_up(self) -> None:
        (self.folder / "away.json").rename(self.path)

    def another(self) -> KekProvider:
        return LocalKeyring.create(self.folder / "another.json")

    def setting(self) -> dict[str, Any]:
        return {"BACKEND": "apps.adapters.kms.local.LocalKeyring", "OPTIONS": {"path": str(self.path)}}


class Fake:
    knows_versions = True

    def __init__(self) -> None:
        self.fake = FakeKms()
        self.provider: KekProvider = self.fake

    def add_version(self) -> str:
        return self.fake.add_version()

    def forbid_first_version(self) -> None:
        self.fake.oldest_version = 2

    def take_down(self) -> None:
        self.fake.down = True

    def bring_up(self) -> None:
        self.fake.down = False

    def another(self) -> KekProvider:
        return FakeKms(seed="another")

    def setting(self) -> dict[str, Any]:
        return {"BACKEND": "apps.adapters.kms.fake.FakeKms", "OPTIONS": {}}


@dataclasses.dataclass
class Service:
    """A provider that speaks over HTTP to a fake of its service.

    ``provider`` is patient, for busy machines; ``hasty`` gives up after TIMEOUT_SECONDS; ``made`` as the product does.
    """

    service: FakeService
    backend: str
    options: dict[str, Any]
    knows_versions: bool
    _provider: KekProvider | None = None

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def provider(self) -> KekProvider:
        self._provider = self._provider or self.made(timeout_seconds=PATIENCE_SECONDS)
        return self._provider

    def made(self, **options: Any) -> KekProvider:
        kinds: dict[str, Any] = {"VaultTransit": VaultTransit, "AwsKms": AwsKms, "GoogleKms": GoogleKms}
        provider: KekProvider = kinds[self.backend.rpartition(".")[2]](**self.options, **options)
        return provider

    def hasty(self) -> KekProvider:
        return warm(self.made(timeout_seconds=TIMEOUT_SECONDS))

    def take_down(self) -> None:
        self.service.take_down()

    def bring_up(self) -> None:
        self.service.bring_up()

    def setting(self) -> dict[str, Any]:
        return {"BACKEND": self.backend, "OPTIONS": {**self.options, "timeout_seconds": PATIENCE_SECONDS}}

    def add_version(self) -> str:
        raise NotImplementedError

    def forbid_first_version(self) -> None:
        raise NotImplementedError

    def another(self) -> KekProvider:
        raise NotImplementedError


def warm(provider: KekProvider) -> KekProvider:
    """Its client is made, slowly on a busy machine, before anything is timed."""
    for _ in range(20):
        with suppress(KeyUnavailable):
            provider.health()
            break
    return provider


class Vault(Service):
    service: FakeTransit

    def add_version(self) -> str:
        return str(self.service.rotate())

    def forbid_first_version(self) -> None:
        self.service.min_decryption_version = 2

    def another(self) -> KekProvider:
        return _AnotherRef(self.provider, "transit/another")


class Aws(Service):
    service: FakeAws

    def add_version(self) -> str:
        return self.service.rotate()

    def forbid_first_version(self) -> None:
        self.service.enabled = False  # KMS closes a key as a whole

    def another(self) -> KekProvider:
        return _AnotherRef(self.provider, self.service.arn.replace("1234abcd", "abcd1234"))


class Google(Service):
    service: FakeGoogle

    def add_version(self) -> str:
        return str(self.service.rotate())

    def forbid_first_version(self) -> None:
        self.service.disabled.add(1)

    def another(self) -> KekProvider:
        return _AnotherRef(self.provider, self.service.key + "-another")


class _AnotherRef:
    """What another key of the same service would have wrapped."""

    def __init__(self, provider: KekProvider, ref: str) -> None:
        self.provider, self.ref = provider, ref

    def __getattr__(self, name: str) -> Any:
        return getattr(self.provider, name)

    def wrap(self, key: bytes, ctx: dict[str, str]) -> Any:
        return dataclasses.replace(self.provider.wrap(key, ctx), ref=self.ref)


@functools.cache
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encodings = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*encodings).decode()


@contextmanager
def vault() -> Iterator[Service]:
    with FakeTransit() as fake:
        options = {"key": fake.key, "url": fake.url, "token": fake.token}
        yield Vault(fake, "apps.adapters.kms.vault.VaultTransit", options, knows_versions=True)


@contextmanager
def aws() -> Iterator[Service]:
    with FakeAws() as fake:
        options = {
            "key_arn": fake.arn,
            "endpoint_url": fake.url,
            "access_key_id": fake.access_key_id,
            "secret_access_key": "only-for-tests",
        }
        yield Aws(fake, "apps.adapters.kms.aws.AwsKms", options, knows_versions=False)


@contextmanager
def google(folder: Path) -> Iterator[Service]:
    with FakeGoogle() as fake:
        path = folder / "service-account.json"
        path.write_text(json.dumps(fake.service_account(private_key())))
        options = {"key": fake.key, "endpoint": fake.url, "credentials_file": str(path)}
        yield Google(fake, "apps.adapters.kms.gcp.GoogleKms", options, knows_versions=False)


@contextmanager
def case_of(name: str, folder: Path) -> Iterator[Case]:
    if name == "local":
        yield Local(folder)
    elif name == "fake":
        yield Fake()
    else:
        with service_of(name, folder) as service:
            yield service


@contextmanager
def service_of(name: str, folder: Path) -> Iterator[Service]:
    with {"vault": vault, "aws": aws, "gcp": lambda: google(folder)}[name]() as service:
        yield service
