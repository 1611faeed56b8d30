"""What every column of both databases holds at rest: sealed, keyed or plain.  The table of docs/security.md.

``tests/architecture/test_columns.py`` holds it against the catalogue of the real databases: a new column is in neither
list until somebody has decided.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """Names with a blank between.

    sealed: ciphertext, or a key wrapped by the key provider.  keyed: a keyed hash or rotation, or a slow hash: equality
    or geometry shows, content does not.  plain: as it is.
    """

    sealed: str = ""
    keyed: str = ""
    plain: str = ""


MAIN: dict[str, Columns] = {
    "memories_memory": Columns(
        sealed="text_ct summary_ct content_ct keywords_ct metadata_ct label_ct tags_ct handles_ct",
        keyed="public_id slot value_mac text_mac tag_tokens actor_token session_token",
        plain="id created_at tenant_id space_id project_id environment updated_at created_txid changed_txid type "
        "key_version revision source source_kind event_type tier is_summary pinned from_assistant validity "
        "superseded_by_id superseded_at superseded_reason retention_status expires_at archive_at retention_expires_at "
        "hard_delete_at deleted_at deletion_method legal_hold source_strength repetition_count extractor_confidence "
        "type_prior confidence importance platform_importance access_count last_accessed_at event_at event_precision "
        "event_range valid_from valid_to",
    ),
    "memories_memoryvector": Columns(
        sealed="embedding_ct",
        keyed="embedding signs",
        plain="id created_at tenant_id memory_id space_id project_id live expires_at vector_id embedder key_version",
    ),
    "memories_posting": Columns(keyed="token", plain="tenant_id space_id memory_id tf length"),
    "memories_memorytransition": Columns(plain="id created_at tenant_id memory_id space_id txid event actor other_id"),
    "memories_quarantinedrow": Columns(
        plain="id created_at tenant_id table record_id space_id reason last_seen_at times"
    ),
    "ingest_candidate": Columns(
        keyed="digest", plain="id created_at tenant_id space_id decision reason type memory_id"
    ),
    "ingest_ingestreceipt": Columns(
        sealed="client_ref_ct",
        keyed="client_ref_mac",
        plain="id created_at tenant_id space_id key_version memory_ids",
    ),
    "tenants_enduser": Columns(sealed="external_ct", keyed="external_mac", plain="id created_at tenant_id key_version"),
    "tenants_organization": Columns(plain="id created_at name"),
    "tenants_tenant": Columns(plain="id created_at uid organization_id name key_deletes new_spaces closed_at"),
    "tenants_membership": Columns(plain="id created_at organization_id user_id role"),
    "projects_project": Columns(plain="id created_at tenant_id public_id name is_default archived_at"),
    "projects_space": Columns(
        plain="id created_at tenant_id uid environment kind profile identity_version owner_id txid doc_count term_total"
    ),
    "apikeys_apikey": Columns(
        keyed="digest",
        plain="id created_at tenant_id name kid pepper_version environment scopes project_id expires_at revoked_at "
        "last_used_at",
    ),
    "apikeys_ratewindow": Columns(plain="id caller seconds window count"),
    "crypto_tenantkeystate": Columns(
        plain="id created_at tenant_id active_version live_versions identity_version key_epoch compromised"
    ),
    "audit_auditevent": Columns(
        plain="id created_at tenant_id actor action target outcome reason request_id count network code_version seq "
        "prev_hash hash",
    ),
    "audit_chainhead": Columns(plain="chain seq hash"),
    "audit_checkpoint": Columns(
        plain="number made_at deployment key_version chains rows root moved previous signature",
    ),
    "audit_checkpointhead": Columns(plain="id checkpoint_id chain seq hash"),
    "audit_outboxevent": Columns(plain="id created_at tenant_id kind subject_id run_after attempts error"),
    "upkeep_keyrotation": Columns(
        plain="id created_at tenant_id actor reason is_compromise state window from_version to_version identity_to "
        "rows_total rows_done rows_quarantined started_at finished_at warned_at"
    ),
    "upkeep_keyrewrap": Columns(plain="id created_at actor done failed finished_at"),
    "accounts_user": Columns(
        keyed="password", plain="id last_login is_superuser email full_name is_staff is_active created_at"
    ),
    "accounts_user_groups": Columns(plain="id user_id group_id"),
    "accounts_user_user_permissions": Columns(plain="id user_id permission_id"),
    "auth_group": Columns(plain="id name"),
    "auth_group_permissions": Columns(plain="id group_id permission_id"),
    "auth_permission": Columns(plain="id name content_type_id codename"),
    "django_admin_log": Columns(
        plain="id action_time user_id content_type_id object_id object_repr action_flag change_message"
    ),
    "django_content_type": Columns(plain="id app_label model"),
    "django_migrations": Columns(plain="id app name applied"),
    "django_session": Columns(plain="session_key session_data expire_date"),
}
_WRAPPED = "id version kek_provider kek_ref kek_version state created_at"
KEYRING: dict[str, Columns] = {
    "crypto_tenantkey": Columns(
        sealed="wrapped",
        keyed="check_value",
        plain=f"{_WRAPPED} tenant_uid kind activated_at read_only_until retired_at destroyed_at reason seals",
    ),
    "crypto_servicekey": Columns(sealed="wrapped", keyed="check_value", plain=f"{_WRAPPED} name"),
    "crypto_spacesecret": Columns(plain="space_uid tenant_uid salt destroyed_at"),
    "retention_erasureentry": Columns(plain="id tenant_uid kind target_uid target_id erased_at actor request_id"),
    "django_migrations": Columns(plain="id app name applied"),
}


def unlike(tables: dict[str, Columns], catalogue: dict[str, list[str]]) -> list[str]:
    """What the catalogue (table to columns) has that was not decided, what was decided twice, and what is gone."""
    found = [f"{name}: no such table" for name in sorted(set(tables) - set(catalogue))]
    for name, columns in sorted(catalogue.items()):
        decided = tables.get(name, Columns())
        names = f"{decided.sealed} {decided.keyed} {decided.plain}".split()
        found += [f"{name}.{column}: sealed, keyed or plain?" for column in columns if column not in names]
        found += [f"{name}.{column}: no such column" for column in sorted(set(names) - set(columns))]
        found += [f"{name}.{column}: decided twice" for column in sorted(set(names)) if names.count(column) > 1]
    return found


def markdown() -> str:
    """The table, as it stands in the documentation."""
    lines = ["| table | sealed | keyed | plain |", "|---|---|---|---|"]
    for place, tables in (("", MAIN), ("keyring: ", KEYRING)):
        for name, columns in tables.items():
            cells = (_code(columns.sealed), _code(columns.keyed), _code(columns.plain))
            lines.append(f"| {place}`{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _code(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())
