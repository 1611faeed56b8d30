"""How every column of both databases is protected at rest: sealed, keyed or plain.  The table of docs/security.md.

``tests/architecture/test_columns.py`` compares it with the catalogues of real databases: a new column fails the test
until a developer has classified it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names, separated by blanks.

    sealed: ciphertext, or a key wrapped by the key provider.  keyed: a keyed hash, a rotation, or a slow password hash,
    which reveals equality or geometry but not content.  plain: stored unencrypted.
    """

    sealed: str = ""
    keyed: str = ""
    plain: str = ""


MAIN: dict[str, Columns] = {
    "memories_memory": Columns(
        sealed="text_ct summary_ct content_ct keywords_ct fields_ct metadata_ct label_ct tags_ct handles_ct said_ct "
        "parts_ct analysis_ct",
        keyed="public_id slot value_mac text_mac said_mac tag_tokens actor_token session_token",
        plain="id created_at tenant_id space_id project_id environment updated_at copied_from created_txid "
        "changed_txid type key_version revision source source_kind event_type tier is_summary pinned from_assistant "
        "validity "
        "superseded_by_id superseded_at superseded_reason retention_status expires_at archive_at hard_delete_at "
        "deleted_at deletion_method legal_hold source_strength repetition_count extractor_confidence type_prior "
        "confidence importance platform_importance access_count last_accessed_at last_used_at event_at "
        "event_precision event_range valid_from valid_to known_from outdated_by_id",
    ),
    "memories_memoryvector": Columns(
        sealed="embedding_ct",
        keyed="signs",
        plain="id created_at tenant_id memory_id space_id project_id live expires_at vector_id embedder key_version",
    ),
    "memories_posting": Columns(keyed="token", plain="tenant_id space_id memory_id tf length"),
    "memories_memorytransition": Columns(
        sealed="diff_ct",
        plain="id created_at tenant_id memory_id space_id txid event actor other_id changed_fields key_version",
    ),
    "memories_memoryfeedback": Columns(
        sealed="comment_ct", plain="id created_at tenant_id memory_id space_id signal key_version"
    ),
    "memories_tombstone": Columns(keyed="mac", plain="id created_at tenant_id space_id expires_at"),
    "memories_quarantinedrow": Columns(
        plain="id created_at tenant_id table record_id space_id reason last_seen_at times"
    ),
    "ingest_candidate": Columns(
        keyed="digest",
        plain="id created_at tenant_id space_id decision reason type memory_id extractor fallback tokens_in tokens_out "
        "cost_micros",
    ),
    "ingest_ingestreceipt": Columns(
        sealed="client_ref_ct",
        keyed="client_ref_mac",
        plain="id created_at tenant_id space_id key_version memory_ids",
    ),
    "ingest_turnreceipt": Columns(keyed="turn_mac", plain="id created_at tenant_id space_id"),
    "ingest_derivedfact": Columns(plain="id created_at tenant_id space_id source_id memory_id is_origin"),
    "ingest_modeluse": Columns(plain="id created_at tenant_id day calls tokens cost_micros"),
    "ingest_reviewitem": Columns(
        sealed="content_ct",
        keyed="digest",
        plain="id created_at tenant_id space_id project_id state reason type confidence extractor source_id "
        "key_version expires_at decided_at decided_by outcome memory_id undo_until",
    ),
    "history_historyturn": Columns(
        sealed="content_ct about_ct",
        keyed="session_mac source_mac key_mac position_mac",
        plain="id created_at tenant_id space_id seq is_withheld key_version",
    ),
    "history_stateitem": Columns(
        sealed="item_ct embedding_ct",
        keyed="item_mac namespace_mac prefix_macs",
        plain="id created_at tenant_id space_id revision updated_at expires_at is_indexed embedder key_version",
    ),
    "sources_externalobject": Columns(
        sealed="about_ct",
        keyed="object_mac digest version_mac",
        plain="id created_at tenant_id space_id project_id connector_id kind size revision seen_at changed_at gone_at "
        "key_version",
    ),
    "sources_objectmemory": Columns(
        keyed="passage_macs",
        plain="id created_at tenant_id space_id object_id memory_id repetitions withdrawn_at",
    ),
    "connectors_connector": Columns(
        sealed="settings_ct secret_ct validators_ct",
        plain="id created_at tenant_id space_id project_id actor kind is_paused every_seconds most_objects most_bytes "
        "revision key_version next_run_at leased_until status error counts started_at finished_at",
    ),
    "edges_memoryedge": Columns(
        sealed="metadata_ct resolution_ct",
        plain="id created_at tenant_id space_id from_memory_id to_memory_id type confidence is_automatic key_version "
        "revision resolved_at winner_id",
    ),
    "memories_owntype": Columns(
        plain="id created_at tenant_id name parent group prior half_life_days ttl replaced_by fields"
    ),
    "memories_typerule": Columns(plain="id created_at tenant_id change_id type name sources words unless key_prefix"),
    "entities_entity": Columns(plain="id created_at tenant_id space_id type is_user needs_review merged_into_id"),
    "entities_entityalias": Columns(
        sealed="alias_ct",
        keyed="alias_mac",
        plain="id created_at tenant_id space_id entity_id parent_id origin_id key_version is_role",
    ),
    "entities_entitymention": Columns(
        plain="id created_at tenant_id space_id entity_id memory_id alias_id origin_id how is_unsure"
    ),
    "entities_entityclaim": Columns(
        sealed="claim_ct",
        plain="id created_at tenant_id space_id memory_id subject_id object_id subject_origin_id object_origin_id "
        "key_version",
    ),
    "recall_recalltrace": Columns(
        sealed="trace_ct", plain="id created_at tenant_id space_id query_id profile key_version"
    ),
    "recall_recallpace": Columns(plain="id hour bucket count"),
    "edges_ontology": Columns(plain="id created_at tenant_id content_types relation_types"),
    "transfers_importjob": Columns(
        sealed="details_ct errors_ct",
        plain="id created_at tenant_id public_id environment project_id space_id actor status format resume "
        "continue_on_error revision key_version total_records processed_records created skipped rejected "
        "already_imported pending_review attempts started_at completed_at",
    ),
    "transfers_importchunk": Columns(
        sealed="payload_ct",
        plain="id created_at tenant_id job_id space_id number first_line records key_version",
    ),
    "transfers_exportjob": Columns(
        sealed="filters_ct result_ct",
        plain="id created_at tenant_id public_id environment project_id space_id end_user_id privacy_request_id actor "
        "status format reach key_version newest_id section after_id to_scan scanned rows unreadable chunks error "
        "retries attempts downloads started_at completed_at expires_at",
    ),
    "transfers_exportchunk": Columns(
        sealed="payload_ct",
        plain="id created_at tenant_id job_id space_id number first_id last_id memory_ids space_ids key_version",
    ),
    "transfers_exportlink": Columns(plain="id created_at tenant_id job_id issued_to expires_at used_at"),
    "summaries_cluster": Columns(
        sealed="label_ct",
        keyed="topic_mac",
        plain="id created_at tenant_id space_id project_id type key_version summary_id",
    ),
    "summaries_clustermember": Columns(plain="id created_at tenant_id space_id cluster_id memory_id"),
    "memories_memoryclaim": Columns(
        sealed="claim_ct",
        keyed="subject_mac predicate_mac slot value_mac",
        plain="id created_at tenant_id space_id memory_id key_version validity valid_from valid_to known_from "
        "superseded_by_id",
    ),
    "memories_memorycheckpoint": Columns(plain="id created_at tenant_id space_id name txid created_by"),
    "memories_memoryperiod": Columns(
        plain="id created_at tenant_id space_id memory_id valid_from valid_to known_from known_to"
    ),
    "memories_summarysource": Columns(plain="id created_at tenant_id space_id summary_id source_id"),
    "tenants_enduser": Columns(
        sealed="external_ct", keyed="external_mac row_mac", plain="id created_at tenant_id key_version"
    ),
    "tenants_organization": Columns(plain="id created_at name domain"),
    "tenants_tenant": Columns(
        keyed="row_mac",
        plain="id created_at uid organization_id name key_deletes new_spaces changes instructions session_summaries "
        "ai_extract ai_rerank break_glass require_second_factor closed_at suspended_at",
    ),
    "breakglass_grant": Columns(
        plain="id created_at tenant_id space_id asked_by reason ticket waits_until approved_by approved_at allowed_by "
        "allowed_at opened_at ends_at closed_by closed_at opened_ids",
    ),
    "tenants_membership": Columns(keyed="row_mac", plain="id created_at organization_id user_id role suspended_at"),
    "projects_project": Columns(
        plain="id created_at tenant_id public_id name is_default archived_at updated_at review"
    ),
    "projects_space": Columns(
        keyed="row_mac",
        plain="id created_at tenant_id uid environment kind profile identity_version owner_id namespace_id txid "
        "doc_count term_total branch origin_uid expires_at",
    ),
    "apikeys_apikey": Columns(
        keyed="digest row_mac",
        plain="id created_at tenant_id name kid pepper_version environment other_environments scopes project_id "
        "namespace_id profile_id issued_by_id account_id end_user_id expires_at revoked_at last_used_at",
    ),
    "apikeys_keyoffer": Columns(
        plain="id created_at tenant_id name environment other_environments scopes project_id days old_key_id "
        "grace_hours offered_by expires_at accepted_at declined_at decided_by key_id"
    ),
    "apikeys_tenantquota": Columns(plain="id created_at tenant_id mode adds retrievals"),
    "apikeys_quotause": Columns(plain="id created_at tenant_id month meter used"),
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
    "outbox_outboxevent": Columns(
        plain="id created_at tenant_id kind subject_id run_after attempts error token leased_until holder asked_again "
        "lost position"
    ),
    "retention_forgetrequest": Columns(
        sealed="choice_ct reason_ct target_ct",
        plain="id created_at tenant_id space_id project_id state key_version requested_by expires_at decided_at "
        "decided_by forgotten erases decided_with step_up_age_seconds erase_at erase_ids blocked_by erasure_uid "
        "erased_at",
    ),
    "retention_privacyrequest": Columns(
        plain="id created_at tenant_id end_user_id kind state requested_by due_at started_at completed_at handled_by "
        "attempts error records evidence",
    ),
    "erasure_hold": Columns(
        plain="id created_at tenant_id level project_id space_id memory_id case set_by lifted_at lifted_by"
    ),
    "retention_retentionnotice": Columns(plain="id created_at tenant_id environment project_id first_on count told_at"),
    "retention_retentionrun": Columns(
        plain="id created_at tenant_id token leased_until finished_at times_resumed archived deleted purged"
    ),
    "policies_retentionpolicy": Columns(
        plain="id created_at tenant_id level project_id space_id namespace_id active_days active_from archive_days "
        "grace_days task_ttl_seconds event_max_age_seconds superseded_max_age_seconds superseded_max_count revision "
        "updated_at updated_by"
    ),
    "webhooks_webhookendpoint": Columns(
        sealed="url_ct description_ct secret_ct former_ct",
        plain="id created_at tenant_id environment project_id name former_until revision key_version secret_prefix "
        "events is_enabled signature_algorithm signature_header timestamp_header signature_tolerance retry_enabled "
        "max_retries initial_delay_seconds max_delay_seconds backoff_multiplier retry_status_codes created_by "
        "updated_at total_deliveries successful_deliveries consecutive_failures last_triggered_at last_success_at "
        "last_failure_at last_error last_status_code",
    ),
    "webhooks_webhookevent": Columns(
        plain="id created_at tenant_id space_id type environment project_id memory_ids data position"
    ),
    "webhooks_eventlog": Columns(plain="id created_at tenant_id position dropped is_recording listened_at"),
    "webhooks_webhookdelivery": Columns(
        sealed="response_ct",
        plain="id created_at tenant_id endpoint_id space_id memory_ids event_id event_type payload status "
        "attempt_number max_attempts next_retry_at leased_until completed_at status_code latency_ms error signature "
        "attempts key_version",
    ),
    "key_management_keyrotation": Columns(
        plain="id created_at tenant_id actor reason is_compromise state window from_version to_version identity_to "
        "rows_total rows_done rows_quarantined started_at finished_at warned_at"
    ),
    "memory_types_typechange": Columns(
        plain="id created_at tenant_id actor kind type sources defines state at_space at_memory looks_again_at "
        "rows_total rows_seen rows_changed rows_taken rows_broken rows_restored rows_kept finished_at"
    ),
    "memory_types_typechangerow": Columns(
        plain="id created_at tenant_id change_id space_id memory_id was_type was_prior was_confidence had_slot txid "
        "state"
    ),
    "key_management_keyrewrap": Columns(plain="id created_at actor done failed finished_at"),
    "accounts_user": Columns(
        keyed="password", plain="id last_login is_superuser email full_name is_staff is_active created_at"
    ),
    "accounts_user_groups": Columns(plain="id user_id group_id"),
    "accounts_user_user_permissions": Columns(plain="id user_id permission_id"),
    "accounts_assertion": Columns(
        keyed="session binding", plain="id created_at user_id authenticated_at expires_at used_at"
    ),
    "accounts_enrolmentcode": Columns(keyed="digest", plain="id created_at user_id expires_at"),
    "accounts_browsersession": Columns(keyed="digest", plain="id created_at user_id data expires_at"),
    "accounts_bearersession": Columns(
        keyed="access refresh password",
        plain="id created_at user_id access_expires_at method proved_at password_shown_at client network "
        "last_used_at expires_at ended_at",
    ),
    "accounts_spentrefresh": Columns(keyed="digest", plain="id created_at session_id"),
    "accounts_oauthcode": Columns(
        keyed="digest",
        plain="id created_at user_id client_id kid audience redirect_uri code_challenge expires_at used_at grant_id",
    ),
    "accounts_oauthgrant": Columns(
        keyed="access refresh password",
        plain="id created_at user_id client_id kid audience access_expires_at expires_at ended_at",
    ),
    "accounts_spentoauthtoken": Columns(keyed="digest", plain="id created_at grant_id"),
    "allauth_idp_oidc_client": Columns(
        keyed="secret",
        plain="id name scopes default_scopes type grant_types redirect_uris cors_origins allow_uri_wildcards "
        "response_types owner_id skip_consent created_at data",
    ),
    "allauth_idp_oidc_token": Columns(
        keyed="hash", plain="id type client_id user_id data created_at expires_at scopes"
    ),
    "account_emailaddress": Columns(plain="id user_id email verified primary"),
    "account_emailconfirmation": Columns(plain="id email_address_id created sent key"),
    # Secrets of authenticators and recovery codes are sealed inside the JSON; passkeys are public keys.
    "mfa_authenticator": Columns(plain="id user_id type data created_at last_used_at"),
    "auth_group": Columns(plain="id name"),
    "auth_group_permissions": Columns(plain="id group_id permission_id"),
    "auth_permission": Columns(plain="id name content_type_id codename"),
    "django_admin_log": Columns(
        plain="id action_time user_id content_type_id object_id object_repr action_flag change_message"
    ),
    "django_content_type": Columns(plain="id app_label model"),
    "django_migrations": Columns(plain="id app name applied"),
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
    "erasure_erasureentry": Columns(
        plain="id tenant_uid kind target_uid target_id erased_at actor request_id erasure_uid"
    ),
    "erasure_erasure": Columns(
        plain="uid tenant_uid environment kind target nonce with_sources state counts actor method step_up_age_seconds "
        "request_id requested_at deleted_at purged_at finished_at",
    ),
    "erasure_purge": Columns(plain="id started_at horizons tables finished_at"),
    "erasure_receipt": Columns(plain="index receipt_uid tenant_uid erasure_uid phase issued_at body leaf"),
    "erasure_receiptcheckpoint": Columns(plain="size note made_at"),
    "django_migrations": Columns(plain="id app name applied"),
}


def unlike(tables: dict[str, Columns], catalogue: dict[str, list[str]]) -> list[str]:
    """Differences to the catalogue (table to columns): unclassified, duplicate and missing columns."""
    found = [f"{name}: no such table" for name in sorted(set(tables) - set(catalogue))]
    for name, columns in sorted(catalogue.items()):
        decided = tables.get(name, Columns())
        names = f"{decided.sealed} {decided.keyed} {decided.plain}".split()
        found += [f"{name}.{column}: sealed, keyed or plain?" for column in columns if column not in names]
        found += [f"{name}.{column}: no such column" for column in sorted(set(names) - set(columns))]
        found += [f"{name}.{column}: decided twice" for column in sorted(set(names)) if names.count(column) > 1]
    return found


def markdown() -> str:
    """The table of the documentation, in Markdown."""
    lines = ["| table | sealed | keyed | plain |", "|---|---|---|---|"]
    for place, tables in (("", MAIN), ("keyring: ", KEYRING)):
        for name, columns in tables.items():
            cells = (_code(columns.sealed), _code(columns.keyed), _code(columns.plain))
            lines.append(f"| {place}`{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _code(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())
