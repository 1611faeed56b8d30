"""Checks of the key provider, the keys, signed rows, quarantined rows, and the local models."""

import time
from collections import Counter
from collections.abc import Iterator

from django.conf import settings

from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_classifier, get_embedder, get_kms
from apps.core.admin import OPERATOR
from apps.crypto import inspection
from apps.key_management.binding import list_unbound
from apps.memories.models import QuarantinedRow
from memsync.ops.doctor.findings import HINTS, DoctorFinding, Visit, fail, ok, warn


def check_key_provider(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the key provider wraps and unwraps a key."""
    began = time.perf_counter()
    try:
        get_kms().health()
    except AdapterError as error:
        yield fail("key provider", f"a key cannot be wrapped and unwrapped: {error}", HINTS["key provider"])
        return
    milliseconds = (time.perf_counter() - began) * 1000
    yield ok("key provider", f"{get_kms().name} wraps and unwraps ({milliseconds:.0f} ms)")


def check_keys(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the active keys of all tenants unwrap, and how old the oldest is."""
    found = inspection.unwrap_active_keys()
    if found.opened < found.all:
        lost = found.all - found.opened
        yield fail("keys", f"the active keys of {lost} of {found.all} tenants do not unwrap", HINTS["keys"])
    else:
        yield ok("keys", f"the active keys unwrap, of {found.all} tenant{'' if found.all == 1 else 's'}")
    oldest = inspection.oldest_root_key()
    if oldest is None:
        return
    days = (visit.now - oldest).days
    said = f"the oldest active key is {days} days old"
    if days > settings.KEY_MAX_AGE_DAYS:
        yield warn("keys", said, "Beat rotates it by schedule; if it does not, run `memsync keys rotate`.")
    else:
        yield ok("keys", said)


def check_rows_that_grant(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the rows that grant access are unmodified: API keys, roles, tenants and users."""
    found = Counter(one.kind for one in list_unbound())
    if found:
        said = "not written by the service, and refused: "
        said += ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
        yield fail("rows that grant", said, HINTS["rows that grant"])
    else:
        yield ok("rows that grant", "keys, roles, tenants and users are unchanged")


def check_quarantine(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether rows are quarantined because they failed to decrypt."""
    count = QuarantinedRow._default_manager.using(OPERATOR).count()
    if count:
        yield warn(
            "quarantine",
            f"{count} rows cannot be decrypted and are left out of results",
            "The admin lists them: they were changed or swapped, or a disk failed. Restore them from a backup.",
        )
    else:
        yield ok("quarantine", "all rows can be decrypted")


def check_embedder(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the embedder works, and how long it takes."""
    embedder = get_embedder()
    began = time.perf_counter()
    vectors = embedder.embed(["Is everything well?"])
    milliseconds = (time.perf_counter() - began) * 1000
    yield ok("embedder", f"{embedder.id}: {vectors.shape[1]} dimensions, {milliseconds:.0f} ms with loading")


def check_classifier(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the classifier works, and how long it takes."""
    classifier = get_classifier()
    if classifier is None:
        yield ok("classifier", "none: only guards and the filler reject input")
        return
    began = time.perf_counter()
    classifier.read("Is everything well?", [(0, 19)])
    classifier.compare("Is everything well?", ["All is well."])
    yield ok("classifier", f"{classifier.id}: {(time.perf_counter() - began) * 1000:.0f} ms with loading")
