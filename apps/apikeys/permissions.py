"""The permissions that a key may have.  One table for views, docs and tests.

There is no permission for hard deletion, erasure, encryption keys or members: only users may do these.
"""

from collections.abc import Sequence

PERMISSIONS: dict[str, str] = {
    "memory:read": "query, retrieve and get memories",
    "memory:add": "add memories, one or many",
    "memory:update": "change tags, importance, metadata and labels; relate; re-embed",
    "memory:delete": "retire memories, where the tenant's policy allows it; never in a default set",
    "memory:forget_request": "ask that a memory be forgotten; a person confirms",
    "history:read": "read conversation history",
    "history:write": "write and delete conversation history",
    "state:read": "read framework state",
    "state:write": "write and delete framework state",
    "imports:read": "see imports",
    "imports:write": "start and cancel imports",
    "exports:read": "see exports and take their files: memories of every end user; never in a default set",
    "exports:write": "start, cancel and repeat exports; never in a default set",
    "candidates:review": "see what waits for review, of every end user, and decide; never in a default set",
    "ontology:write": "add types, and change those of memories, of every end user; never in a default set",
    "projects:read": "list projects",
    "audit:read": "read the tenant's audit trail, of all environments; never in a default set",
    "retention:read": "see what is kept for how long, and what goes when; never in a default set",
    "retention:write": "make retention stricter: what is past its time is deleted; never in a default set",
    "privacy:request": "open and follow requests of end users for access, export or deletion; never in a default set",
    "receipts:read": "read the receipts of what was erased, of all environments; never in a default set",
    "webhooks:read": "see webhooks and their deliveries; never in a default set",
    "webhooks:write": "make, change and delete webhooks, and send again; never in a default set",
    "tokens:write": "create, list and revoke tokens of namespaces and profiles; never in a default set",
    "org:cross_project_read": "read across projects; with a pinned key, other projects than its own",
}
DEFAULT = ("memory:read", "memory:add", "memory:update", "memory:forget_request", "history:read", "history:write",
           "state:read", "state:write", "imports:read", "imports:write", "projects:read")  # fmt: skip
# Permissions that delete memories, or cause it, or create credentials: no wildcard includes them, they must be named.
IN_NO_WILDCARD = frozenset({"memory:delete", "retention:write", "privacy:request", "tokens:write"})
# Permissions whose responses contain no content and no end user: an operator may see a key with these.
READS_NO_CONTENT = frozenset({"projects:read", "audit:read", "retention:read", "receipts:read"})
CROSS_PROJECT_READ = "org:cross_project_read"
REVIEWS = "candidates:review"  # the permission to decide what a program may not: to end a memory that is trusted more
PINS = REVIEWS  # to pin: age limits of retention do not apply to pinned memories, and only a reviewer may replace them
# ``memory:*`` implies all of these, so that keys for other builds keep working; it never implies delete.
EVERYTHING_OF_MEMORY = frozenset(name for name in PERMISSIONS if name.split(":")[0] in
                                 {"memory", "history", "state", "imports"}) - IN_NO_WILDCARD  # fmt: skip


def expand(scopes: Sequence[str], *, is_pinned: bool) -> frozenset[str]:
    """The permissions that these scopes grant, wildcards expanded.

    is_pinned: to a project.  No wildcard reaches beyond the project that the key is pinned to.
    """
    granted = set(scopes)
    if "memory:*" in granted:
        granted |= EVERYTHING_OF_MEMORY
    if "*" in granted:
        granted |= set(PERMISSIONS) - IN_NO_WILDCARD - ({CROSS_PROJECT_READ} if is_pinned else set())
    return frozenset(granted & set(PERMISSIONS))


def unknown(scopes: list[str]) -> list[str]:
    """The ones of ``scopes`` that do not exist."""
    return [scope for scope in scopes if scope not in PERMISSIONS and scope not in {"*", "memory:*"}]
