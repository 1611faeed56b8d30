"""Each guard is shown what it guards against, and must say so: a guard that never bites is a decoration."""

import gzip
import logging
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.db import connections, migrations, models
from django.test.utils import isolate_apps

from apps.apikeys.onboarding import OpenedTenant
from apps.core.migration_operations import EnableTenantIsolation
from apps.core.plaintext import Plaintext
from apps.core.scoping import ScopedManager, ScopedModel
from apps.crypto.services import SpaceCipher
from apps.memories.models import Memory
from apps.outbox.tasks import drain
from apps.projects.scope import Environment
from apps.recall import read_log
from apps.tenants.models import Tenant
from memsync.launcher.embedded import roles
from tests.api.conftest import Caller
from tests.architecture import canaries, test_documented, test_migrations, test_plaintext, test_tenancy, walls

ROOT = Path(__file__).resolve().parents[2]
WORD = canaries.word(99)


# -- tenancy -----------------------------------------------------------------------------------------------------------


@isolate_apps("apps.core")
def test_a_model_of_nobody_is_reported() -> None:
    class Diary(models.Model):
        class Meta:
            app_label = "core"

        def __str__(self) -> str:
            return ""

    assert test_tenancy.unowned([Diary], {}) == ["core.Diary: is neither a ScopedModel nor listed as global"]
    assert test_tenancy.unowned([Diary], {"core.Diary": "a test"}) == []


@isolate_apps("apps.core")
def test_a_tenant_that_may_be_missing_is_reported() -> None:
    class Stray(ScopedModel):
        tenant = models.ForeignKey(Tenant, models.SET_NULL, null=True, related_name="+")

        class Meta(ScopedModel.Meta):
            app_label = "core"

    assert test_tenancy.loosely_owned(Stray) == [
        "core.Stray: the tenant may be missing",
        "core.Stray: stays when its tenant goes",
    ]


@isolate_apps("apps.core")
@pytest.mark.django_db
def test_an_open_manager_is_reported() -> None:
    class Leaky(ScopedManager[Any]):
        def filter(self, *args: Any, **options: Any) -> Any:
            return models.QuerySet(Memory).none()

        def create(self, scope: Any = None, **fields: Any) -> Any:
            return Memory(**fields)

    class Open(ScopedModel):
        objects = models.Manager()

        class Meta(ScopedModel.Meta):
            app_label = "core"

    class Ajar(ScopedModel):
        objects = Leaky()

        class Meta(ScopedModel.Meta):
            app_label = "core"

    assert "core.Open.objects asks nobody" not in test_tenancy.open_doors(Open)
    assert {"core.Open.objects is not scoped", "core.Open.objects.all asks nobody"} <= {*test_tenancy.open_doors(Open)}
    assert test_tenancy.open_doors(Ajar) == [
        "core.Ajar.objects.create asks nobody",
        "core.Ajar.objects.filter asks nobody",
    ]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("Memory.everyone.all()", True),
        ("getattr(Memory, 'everyone')", True),
        ("Memory._default_manager.first()", True),
        ("Memory._base_manager.first()", True),
        ("Memory._default_manager.using(OPERATOR)", False),
        ("# everyone is welcome", False),
    ],
)
def test_a_file_that_uses_the_open_manager_is_found(tmp_path: Path, line: str, is_found: bool) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "sneaky.py").write_text(line)

    assert test_tenancy.files_with(test_tenancy.OPEN_DOOR, tmp_path) == ({"apps/sneaky.py"} if is_found else set())


# -- the catalogue -----------------------------------------------------------------------------------------------------


@pytest.fixture
def superuser(db: None, superuser_url: str) -> Iterator[Any]:
    """A cursor of the superuser on this test's database; nothing it does stays."""
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}") as connection:
        with connection.cursor() as cursor:
            yield cursor
        connection.rollback()


BREACHES: list[tuple[str, Callable[..., list[str]], str]] = [
    (
        "create table diary (id bigint primary key, tenant_id bigint not null)",
        walls.row_security,
        "diary: row-level security is not enabled",
    ),
    (
        "alter table memories_memory disable row level security",
        walls.row_security,
        "memories_memory: row-level security is not enabled",
    ),
    (
        "alter table memories_memory no force row level security",
        walls.row_security,
        "memories_memory: row-level security is not forced on the owner",
    ),
    ("drop policy tenant on memories_posting", walls.row_security, "memories_posting: 0 policies instead of one"),
    (
        "create policy friendly on memories_memory using (true)",
        walls.row_security,
        "memories_memory: policy friendly has no using on the tenant",
    ),
    (
        "alter policy tenant on memories_memoryvector with check (true)",
        walls.row_security,
        "memories_memoryvector: policy tenant has no with check on the tenant",
    ),
    (
        "drop policy tenant on projects_space; create policy tenant on projects_space for select using (tenant_id = "
        "nullif(current_setting('app.tenant_id', true), '')::bigint)",
        walls.row_security,
        "projects_space: policy tenant is not for every command of every role",
    ),
    (
        "create unique index gossip on memories_memory (public_id)",
        walls.unique_indexes,
        "memories_memory (public_id): unique without the tenant first",
    ),
    (
        "alter table memories_memory add constraint gossip unique (space_id, tenant_id, text_mac)",
        walls.unique_indexes,
        "memories_memory (space_id, tenant_id, text_mac): unique without the tenant first",
    ),
    (
        "alter table memories_memorytransition add constraint astray foreign key (memory_id) "
        "references memories_memory (id)",
        walls.foreign_keys,
        "memories_memorytransition: astray points across tenants",
    ),
    (
        "alter table memories_memoryvector drop constraint memories_memoryvector_memory_id_in_tenant",
        walls.unkeyed_columns,
        "memories_memoryvector.memory_id: no foreign key that holds the tenant",
    ),
    (
        "create function peek() returns bigint language sql security definer as 'select count(*) from memories_memory'",
        walls.definer_functions,
        "peek: runs as its owner",
    ),
    (
        "create index gossip on memories_memory (text_mac, tenant_id)",
        walls.plain_indexes,
        "memories_memory (text_mac, tenant_id): an index without the tenant first",
    ),
    (
        "create or replace function audit_chain() returns trigger language plpgsql security definer "
        "set search_path = pg_catalog, pg_temp as 'begin return null; end'",
        walls.definer_functions,
        "audit_chain: was changed; look at it, and write down "
        "856e86d440374074cd81521f121d3f355520152993a831ca7392ff1bf072ee95",
    ),
    (
        "alter function audit_record reset search_path",
        walls.definer_functions,
        "audit_record: its search_path is the caller's",
    ),
    (
        "grant execute on function audit_record to public",
        walls.definer_functions,
        "audit_record: everybody may run it",
    ),
]


@pytest.mark.parametrize(("breach", "check", "finding"), BREACHES, ids=[finding for _, _, finding in BREACHES])
def test_a_breach_of_the_catalogue_is_reported(
    superuser: Any, breach: str, check: Callable[..., list[str]], finding: str
) -> None:
    assert check(superuser) == []

    superuser.execute(breach)

    assert finding in check(superuser)


@pytest.mark.parametrize(
    ("breach", "finding"),
    [
        (f"alter role {roles.APP} bypassrls", f"{roles.APP}: bypasses row-level security"),
        (f"alter role {roles.APP} superuser", f"{roles.APP}: is a superuser"),
        (f"grant {roles.OWNER} to {roles.APP}", f"{roles.OWNER}: bypasses row-level security"),
        (f"alter role {roles.APP} createrole", f"{roles.APP}: makes roles, makes databases or replicates"),
        (f"grant create on schema public to {roles.APP}", f"{roles.APP}: defines tables"),
        (f"alter table memories_memory owner to {roles.APP}", f"{roles.APP}: owns memories_memory"),
    ],
)
def test_an_application_that_could_step_round_the_walls_is_reported(superuser: Any, breach: str, finding: str) -> None:
    assert walls.roles(superuser, application=roles.APP) == []

    superuser.execute(breach)

    assert finding in walls.roles(superuser, application=roles.APP)


def test_an_exception_for_nothing_is_reported(superuser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(walls.OPEN_TABLES, "gone", "")
    monkeypatch.setitem(walls.GLOBAL_UNIQUES, "gone (id)", "")
    monkeypatch.setitem(walls.LOOSE_COLUMNS, "gone.id", "")

    assert len(walls.stale_exceptions(superuser)) == 3


# -- plaintext ---------------------------------------------------------------------------------------------------------


def remember_canary(tenant: OpenedTenant) -> None:
    caller = Caller(tenant.keys[Environment.PRODUCTION])
    answer = caller("POST", "/memory/add", {"text": f"My dog {WORD} sleeps here.", "importance": 0.6, "tags": [WORD]})
    assert answer.status_code == 201
    read_log.flush()


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_a_cipher_that_does_not_seal_is_found_out(
    acme: OpenedTenant, superuser_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seal(self: SpaceCipher, field: str, record_id: int, text: Plaintext | bytes, *, revision: int = 0) -> bytes:
        return b64encode(b"x" + (text.reveal().encode() if isinstance(text, Plaintext) else text))

    def open_bytes(self: SpaceCipher, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> bytes:
        import base64

        return base64.b64decode(blob)[1:]

    monkeypatch.setattr(SpaceCipher, "seal", seal)
    monkeypatch.setattr(SpaceCipher, "open_bytes", open_bytes)
    monkeypatch.setattr(SpaceCipher, "open", lambda *args, **options: Plaintext(open_bytes(*args, **options).decode()))
    remember_canary(acme)

    found = canaries.in_databases(superuser_url, [WORD])

    assert found == [f"public.memories_memory: {WORD[:12]} (base64)"]


@pytest.mark.django_db(transaction=True, databases="__all__")
def test_a_word_in_capitals_in_any_column_is_found(acme: OpenedTenant, superuser_url: str) -> None:
    remember_canary(acme)
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{name}") as superuser:
        superuser.execute("update memories_memory set source = %s", [WORD[:12].upper()])

    assert canaries.in_databases(superuser_url, [WORD]) == [f"public.memories_memory: {WORD[:12]} (utf-8)"]


@pytest.mark.parametrize(
    "hide",
    [
        str.encode,
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-be"),
        *(lambda text, start=start: b64encode(b"12"[:start] + text.encode()) for start in range(3)),
        lambda text: text.encode().hex().encode(),
        lambda text: ("f" + text.encode().hex()).encode(),
        lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: b"\x00\x01" + gzip.compress(text.encode("utf-16")),
        lambda text: b64encode(gzip.compress(text.encode())),
        lambda text: text.upper().encode(),
    ],
)
def test_no_encoding_hides_a_canary(hide: Callable[[str], bytes]) -> None:
    assert canaries.in_bytes(b"\x07" * 9 + hide(f"my dog {WORD} is old") + b"\x07", [WORD]) == {WORD[:12]}
    assert canaries.in_bytes(hide("my dog is old"), [WORD]) == set()


def test_a_canary_in_a_whole_text_without_long_words_is_found_by_the_text() -> None:
    sought = canaries.script.Needles(["I am 42 now"])

    assert {what for what, _ in sought.found(b"..I am 42 now..")} == {"I am 42 now"}


@pytest.mark.django_db(transaction=True)
def test_a_message_with_text_is_found_in_the_broker(superuser_url: str, pgmq_url: str) -> None:
    with canaries.broker(pgmq_url):
        sent = drain.apply_async(kwargs={"text": WORD})

    found = canaries.in_databases(superuser_url, [WORD], also=("memsync",))
    with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/memsync") as superuser:
        mine = "message -> 'headers' ->> 'id' = %s"
        assert superuser.execute(f"delete from pgmq.q_celery where {mine}", [sent.id]).rowcount == 1  # noqa: S608

    # The body is base64 inside the message, and Celery shows the arguments once more in a header.
    assert {line.split(": ")[0] for line in found} == {"pgmq.q_celery"}


def test_text_in_the_cache_is_found() -> None:
    cache.set(f"answer-to-{WORD}", 1)
    assert canaries.in_cache([WORD]) == {WORD[:12]}
    cache.clear()


def test_text_in_a_log_line_is_found() -> None:
    with canaries.logged() as lines:
        logging.getLogger("apps.sneaky").info(f"heard {WORD}")  # noqa: G004  (a line of ours that quotes)

    assert canaries.in_bytes(lines.getvalue(), [WORD]) == {WORD[:12]}


@pytest.mark.parametrize(
    "line",
    [
        'logger.info(f"heard {text}")',
        'logger.info("heard %s", text)',
        'logger.info("heard " + text)',
        "logger.info(text)",
        'logger.info("heard", extra={"text": text})',
        'logging.getLogger(__name__).error("heard", stack_info=True)',
    ],
)
def test_a_log_call_that_could_tell_is_reported(line: str) -> None:
    assert test_plaintext.loose_log_calls(line) != []


# -- migrations and documents ------------------------------------------------------------------------------------------


def migration(name: str, *operations: Any) -> migrations.Migration:
    made = migrations.Migration(name, "diaries")
    made.operations = list(operations)
    return made


def test_a_tenants_table_without_its_wall_is_reported() -> None:
    create = migrations.CreateModel("Diary", [("id", models.BigAutoField(primary_key=True)), ("tenant", models.F("x"))])
    by_hand = migrations.RunSQL("create table diaries_page (id bigint, tenant_id bigint not null)")
    wall = EnableTenantIsolation("Diary")

    assert test_migrations.unwalled([migration("0001", create, by_hand)]) == {"diaries_diary", "diaries_page"}
    assert test_migrations.unwalled([migration("0001", create), migration("0002", wall)]) == set()
    assert test_migrations.unwalled([migration("0001", wall, create)]) == {"diaries_diary"}


def test_a_forked_history_is_reported() -> None:
    first, second, third, merge = (("diaries", name) for name in ("0001", "0002", "0002b", "0003"))

    found = test_migrations.forks({first: [], second: [first], third: [first], merge: [second, third]})

    assert found == ["diaries.0001 is followed by 2", "diaries.0003 merges 2"]
    assert test_migrations.forks({first: [], second: [first], merge: [second]}) == []


def test_a_name_that_no_document_explains_is_reported() -> None:
    text = "Set `TOKEN_FILE` or `OTHER`.\n\n    memsync up --json\n\nThe word down is prose."

    assert test_documented.undocumented(["TOKEN", "OTHER", "up", "down"], text) == ["TOKEN", "down"]


# -- layers ------------------------------------------------------------------------------------------------------------


SNEAKY = [
    ("apps/core/locks.py", "from apps.memories import models", "Apps are layered"),
    ("apps/tenants/services.py", "import memsync.settings", "Apps do not know the project"),
    ("apps/api/request_context.py", "from apps.memories.models import Memory", "Views reach data through services"),
    ("apps/recall/ranking.py", "import django.db", "Pure modules stay pure"),
    (
        "apps/memories/sealing.py",
        "from cryptography.fernet import Fernet",
        "cryptography is imported in three files",
    ),
    ("apps/memories/services.py", "import celery", "Celery stays in tasks modules"),
    ("text/letters.py", "import django.conf", "Reading text knows no Django and no app"),
    ("text/digest.py", "import re2", "The linear engine is used in one file"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a tree with all of these imports in it; the graph of the imports takes long to make."""
    tree = tmp_path_factory.mktemp("sneaky")
    for top in ("apps", "memsync", "text"):
        shutil.copytree(ROOT / top, tree / top, ignore=shutil.ignore_patterns("__pycache__", "*.onnx"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    for file, line, _ in SNEAKY:
        with (tree / file).open("a") as sneaky:
            sneaky.write(f"\n{line}\n")

    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter, "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)

    assert result.returncode == 1
    return result.stdout


@pytest.mark.parametrize(("file", "line", "contract"), SNEAKY)
def test_an_import_that_breaks_a_contract_is_reported(report: str, file: str, line: str, contract: str) -> None:
    sneaky, imported = file.removesuffix(".py").replace("/", "."), line.split()[1]

    (verdict,) = [row for row in report.splitlines() if row.startswith(contract) and "BROKEN" in row]
    # Of the broken contracts each has a section: its name, underlined, and the imports that break it.
    _, _, section = re.split(rf"^({re.escape(contract)}.*)\n-+$", report, maxsplit=1, flags=re.MULTILINE)
    section = re.split(r"^.+\n-{5,}$", section, maxsplit=1, flags=re.MULTILINE)[0]

    assert verdict
    # A package from elsewhere is named as a whole.
    assert re.search(rf"{re.escape(sneaky)} -> ({re.escape(imported)}|{imported.split('.')[0]} )", section)
