"""How the operators' site looks and what its sidebar lists.  Data only; read by settings."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy


def _item(title: str, icon: str, page: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{page}")}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "memsync",
    "SITE_HEADER": "memsync",
    "SITE_SUBHEADER": "operators cannot read memories",
    "SITE_SYMBOL": "neurology",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("memsync/favicon.svg")}],
    "STYLES": [lambda _: static("memsync/admin.css")],
    "SCRIPTS": [lambda _: static("memsync/alpine_parts.js")],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SIDEBAR": {
        "navigation": [
            {"items": [_item("Overview", "dashboard", "index")]},
            {
                "title": "Tenancy",
                "separator": True,
                "items": [
                    _item("Tenants", "domain", "tenants_tenant_changelist"),
                    _item("Projects", "folder", "projects_project_changelist"),
                    _item("Spaces", "grid_view", "projects_space_changelist"),
                    _item("End users", "person", "tenants_enduser_changelist"),
                ],
            },
            {
                "title": "Credentials",
                "separator": True,
                "items": [
                    _item("API keys", "key", "apikeys_apikey_changelist"),
                    _item("Encryption keys", "lock", "crypto_tenantkeystate_changelist"),
                    _item("Key rotations", "autorenew", "key_management_keyrotation_changelist"),
                    _item("People", "badge", "accounts_user_changelist"),
                ],
            },
            {
                "title": "Memory",
                "separator": True,
                "items": [
                    _item("Memories", "neurology", "memories_memory_changelist"),
                    _item("Decisions", "rule", "ingest_candidate_changelist"),
                    _item("Review queue", "inbox", "ingest_reviewitem_changelist"),
                ],
            },
            {
                "title": "Operation",
                "separator": True,
                "items": [
                    _item("Outbox", "outbox", "outbox_outboxevent_changelist"),
                    _item("Webhooks", "webhook", "webhooks_webhookendpoint_changelist"),
                    _item("Webhook deliveries", "send", "webhooks_webhookdelivery_changelist"),
                    _item("Quarantine", "gpp_maybe", "memories_quarantinedrow_changelist"),
                    _item("Retention policies", "auto_delete", "policies_retentionpolicy_changelist"),
                    _item("Retention runs", "cleaning_services", "retention_retentionrun_changelist"),
                    _item("Legal holds", "gavel", "erasure_hold_changelist"),
                    _item("Break-glass grants", "emergency_home", "breakglass_grant_changelist"),
                    _item("Audit trail", "history", "audit_auditevent_changelist"),
                ],
            },
        ]
    },
}
