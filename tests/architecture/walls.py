"""What a database's catalogue says about the walls between tenants: one finding a line, none when all is well."""

from typing import Any

from django.db.backends.utils import CursorWrapper

# Tables with a tenant_id that row-level security does not guard, and why.
OPEN_TABLES = {
    "outbox_outboxevent": "ids of work, drained by one worker for all tenants, which enters a tenant to do any of it",
    "memory_types_typechange": "names of types and counts, tended by one worker, which enters a tenant to work",
    "key_management_keyrotation": "versions and counts, tended by one worker, which enters a tenant to work",
}
# Unique indexes that do not begin with the tenant, beside primary keys over ``id``, which come from one sequence.
GLOBAL_UNIQUES = {
    "apikeys_apikey (kid)": "a key is looked up before its tenant is known; the id is random",
    "memories_memoryvector (memory_id)": "a memory's id is from one sequence, and the memory itself is in one tenant",
}
# Columns that name a row of a tenant table and have no foreign key, and why.
LOOSE_COLUMNS: dict[str, str] = {}
# Indexes that do not begin with the tenant, beside those above, and why.
GLOBAL_INDEXES = {
    "apikeys_apikey (kid)": "a key is looked up before its tenant is known",
    "apikeys_apikey (project_id)": "Django's, for the key that it refers to; few rows, and never searched by it",
    "audit_auditevent (id)": "of rows that are not chained yet, which whoever commits looks for",
    "outbox_outboxevent (kind, tenant_id, run_after, id)": "one worker drains the queue of all tenants, in turn",
    "outbox_outboxevent (token)": "a worker finds its events by it, and events of lost workers are found",
}
# Functions that run with their owner's eyes: why, and the SHA-256 of the body that was looked at.
DEFINER_FUNCTIONS = {
    "audit_chain": (
        "a trigger, at commit: chains what the transaction recorded, in a table that nobody may write",
        "104aef896a6fcf734098fa61cfa11340ce0dee89c36fbb43a7fd97ff888c0807",
    ),
    "audit_record": (
        "the one way into the audit trail; refuses rows of another tenant than the transaction's",
        "071df52bfec94dd55b26a0e3fefb03a83e6589abe31917e66dc12d280aaae198",
    ),
}

_TENANT_TABLES = """
    select c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
"""


def tenant_tables(cursor: CursorWrapper) -> set[str]:
    cursor.execute(f"select relname from ({_TENANT_TABLES}) t")  # noqa: S608
    return {name for (name,) in cursor.fetchall()}


def row_security(cursor: CursorWrapper) -> list[str]:
    """Every table with a tenant_id shows and takes rows of the transaction's tenant only, whoever owns the table."""
    cursor.execute(_TENANT_TABLES)
    found = []
    for oid, table, enabled, forced in cursor.fetchall():
        if table in OPEN_TABLES:
            continue
        if not enabled:
            found.append(f"{table}: row-level security is not enabled")
        if not forced:
            found.append(f"{table}: row-level security is not forced on the owner")
        cursor.execute(
            "select polname, polpermissive, polcmd, polroles = '{0}', pg_get_expr(polqual, polrelid), "
            "pg_get_expr(polwithcheck, polrelid) from pg_policy where polrelid = %s",
            [oid],
        )
        policies = cursor.fetchall()
        if len(policies) != 1:
            # Permissive policies widen each other: a second one could open what the first shuts.
            found.append(f"{table}: {len(policies)} policies instead of one")
        found += [finding for policy in policies for finding in _policy(table, *policy)]
    return found


def _policy(
    table: str, name: str, is_permissive: bool, command: str, for_all: bool, using: str | None, check: str | None
) -> list[str]:
    found = []
    if not (is_permissive and command == "*" and for_all):
        found.append(f"{table}: policy {name} is not for every command of every role")
    for clause, expression in (("using", using), ("with check", check)):
        if not expression or "tenant_id" not in expression or "app.tenant_id" not in expression:
            found.append(f"{table}: policy {name} has no {clause} on the tenant")
    return found


def unique_indexes(cursor: CursorWrapper) -> list[str]:
    """A unique index that does not begin with the tenant answers, by its errors, what other tenants hold."""
    return [f"{name}: unique without the tenant first" for name in _unled_uniques(cursor) if name not in GLOBAL_UNIQUES]


def plain_indexes(cursor: CursorWrapper) -> list[str]:
    """An index that does not begin with the tenant holds all tenants' rows side by side, and scans cross them."""
    return [
        f"{name}: an index without the tenant first" for name in _unled_indexes(cursor) if name not in GLOBAL_INDEXES
    ]


def stale_exceptions(cursor: CursorWrapper) -> list[str]:
    """Exceptions above that excuse nothing any more."""
    tables, uniques, loose = tenant_tables(cursor), set(_unled_uniques(cursor)), set(_loose_columns(cursor))
    indexes, definers = set(_unled_indexes(cursor)), {name for name, *_ in _definers(cursor)}
    return [
        *(f"{name}: no such index" for name in GLOBAL_INDEXES if name not in indexes),
        *(f"{name}: no such function" for name in DEFINER_FUNCTIONS if name not in definers),
        *(f"{name}: no such table" for name in OPEN_TABLES if name not in tables),
        *(f"{name}: no such index" for name in GLOBAL_UNIQUES if name not in uniques),
        *(f"{name}: has its key, or is gone" for name in LOOSE_COLUMNS if name not in loose),
    ]


def _unled_uniques(cursor: CursorWrapper) -> list[str]:
    return _unled(cursor, is_unique=True)


def _unled_indexes(cursor: CursorWrapper) -> list[str]:
    return _unled(cursor, is_unique=False)


def _unled(cursor: CursorWrapper, *, is_unique: bool) -> list[str]:
    """Table and columns of each index that does not begin with the tenant, primary keys over ``id`` left out."""
    cursor.execute(
        f"""
        select t.relname, array_agg(a.attname order by k.place) from ({_TENANT_TABLES}) t
          join pg_index i on i.indrelid = t.oid and i.indisunique = %s
          cross join lateral unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality k(attnum, place)
          left join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
         group by t.relname, i.indexrelid, i.indisprimary
        having (array_agg(a.attname order by k.place))[1] is distinct from 'tenant_id'
           and not (i.indisprimary and array_agg(a.attname order by k.place) = '{{id}}')
         order by 1
        """,  # noqa: S608
        [is_unique],
    )
    return [f"{table} ({', '.join(columns)})" for table, columns in cursor.fetchall()]


def foreign_keys(cursor: CursorWrapper) -> list[str]:
    """A key from one tenant table to another holds the tenant on both sides, so that no row points across."""
    cursor.execute(
        f"""
        select t.relname, c.conname, array(
            select near.attname || '=' || far.attname
              from unnest(c.conkey, c.confkey) pair(near, far)
              join pg_attribute near on near.attrelid = c.conrelid and near.attnum = pair.near
              join pg_attribute far on far.attrelid = c.confrelid and far.attnum = pair.far)
          from ({_TENANT_TABLES}) t join pg_constraint c on c.conrelid = t.oid and c.contype = 'f'
         where c.confrelid in (select oid from ({_TENANT_TABLES}) u)
        """  # noqa: S608
    )
    return [
        f"{table}: {name} points across tenants"
        for table, name, pairs in cursor.fetchall()
        if "tenant_id=tenant_id" not in pairs
    ]


def unkeyed_columns(cursor: CursorWrapper) -> list[str]:
    """Every foreign key of a model is one in the database as well: Django's own constraints are off for these."""
    return [
        f"{name}: no foreign key that holds the tenant" for name in _loose_columns(cursor) if name not in LOOSE_COLUMNS
    ]


def _loose_columns(cursor: CursorWrapper) -> list[str]:
    from django.apps import apps

    tables = tenant_tables(cursor)
    cursor.execute(
        "select conrelid::regclass::text || '.' || attname from pg_constraint join pg_attribute "
        "on attrelid = conrelid and attnum = any(conkey) where contype = 'f' and array_length(conkey, 1) > 1"
    )
    held = {name for (name,) in cursor.fetchall()}
    wanted = [
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models()
        if model._meta.db_table in tables
        for field in model._meta.concrete_fields
        if field.related_model is not None and _table(field.related_model) in tables
    ]
    return sorted(set(wanted) - held)


def _table(model: Any) -> str:
    return str(model._meta.db_table)


def roles(cursor: CursorWrapper, *, application: str) -> list[str]:
    """The role that serves requests can neither ignore row-level security nor become one that can."""
    cursor.execute(
        """
        select r.rolname, r.rolsuper, r.rolbypassrls, r.rolcreaterole or r.rolcreatedb or r.rolreplication,
               has_schema_privilege(r.oid, 'public', 'create')
          from pg_roles r where r.rolname = %s or pg_has_role(%s, r.oid, 'member')
        """,
        [application, application],
    )
    rows = cursor.fetchall()
    found = [f"{application}: no such role"] if not rows else []
    for name, is_super, bypasses, makes_more, defines in rows:
        if makes_more:
            found.append(f"{name}: makes roles, makes databases or replicates")
        if defines:
            found.append(f"{name}: defines tables")
        if is_super:
            found.append(f"{name}: is a superuser")
        if bypasses:
            found.append(f"{name}: bypasses row-level security")
    cursor.execute(
        f"select relname from ({_TENANT_TABLES}) t join pg_class c using (oid, relname) "  # noqa: S608
        "where pg_has_role(%s, c.relowner, 'usage')",
        [application],
    )
    return found + [f"{application}: owns {table}" for (table,) in cursor.fetchall()]


def definer_functions(cursor: CursorWrapper) -> list[str]:
    """A SECURITY DEFINER function runs with its owner's eyes: each is listed, is as it was when it was looked at, finds
    nothing along a path that its caller chose, and cannot be run by just any role."""
    found = []
    for name, digest, is_pinned, is_for_all in _definers(cursor):
        if name not in DEFINER_FUNCTIONS:
            found.append(f"{name}: runs as its owner")
        elif digest != DEFINER_FUNCTIONS[name][1]:
            found.append(f"{name}: was changed; look at it, and write down {digest}")
        if not is_pinned:
            found.append(f"{name}: its search_path is the caller's")
        if is_for_all:
            found.append(f"{name}: everybody may run it")
    return found


def _definers(cursor: CursorWrapper) -> list[tuple[str, str, bool, bool]]:
    cursor.execute(
        "select proname, encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'), "
        "coalesce(proconfig::text like '%search_path=pg_catalog, pg_temp%', false), "
        "has_function_privilege('public', oid, 'execute') "
        "from pg_proc where pronamespace = 'public'::regnamespace and prosecdef order by proname"
    )
    return cursor.fetchall()
