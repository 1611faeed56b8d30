"""Identity of the end user on this plane: tenant and user in the body or the path, instead of a header."""

from collections.abc import Mapping

from apps.api.fields import Label
from apps.api.input_serializers import Input
from apps.api.views import MAX_END_USER_ID, ApiView
from apps.memories.spaces import name_in_namespace
from apps.projects.scope import Scope


class IdentityInput(Input):
    """The end user.  These two override headers."""

    tenant_id = Label(
        required=False,
        max_length=MAX_END_USER_ID,
        help_text="The key's own tenant, with the end users of the other routes, as by default; any other string is a "
        "namespace within the key's tenant, with its own end users.",
    )
    user_id = Label(max_length=MAX_END_USER_ID, help_text="Your own ID for the end user.")


class NamedView(ApiView):
    """A view whose requests name tenant and user themselves.

    However they are named, nobody leaves the key's own tenant.
    """

    def named(self, owner: Mapping[str, str]) -> str:
        """Who is meant, by the one string that end users are known by.  owner: fields of an IdentityInput."""
        scope = self.scope()
        return name_in_namespace(scope, owner.get("tenant_id", scope.tenant.name), owner["user_id"])

    def reader_of(self, owner: Mapping[str, str], *, spans: bool = False) -> Scope:
        """A scope that reads what is theirs.  Of a stranger it reads nothing, and makes nothing.  spans: as ``reader``
        takes it."""
        return self.reaching(self.scope(), self.named(owner), spans=spans)
