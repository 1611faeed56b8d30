"""The caller's organizations, and the members of the one that owns the tenant."""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.second_factors import with_second_factor
from apps.api.control.request_tenant import tenant_of
from apps.api.fields import Choice, Label
from apps.api.input_serializers import Input
from apps.api.operations import operation
from apps.api.permissions import PERSON
from apps.api.views import ControlView, PersonView
from apps.apikeys.onboarding import found_organization
from apps.tenants import members

if TYPE_CHECKING:  # views import no models
    from apps.tenants.models import Membership

ROLES: Final = ("owner", "admin", "developer", "analyst", "billing")
STATES: Final = ("active", "suspended")


class OrganizationInput(Input):
    name = Label(max_length=100)
    domain = Label(max_length=253, required=False)


class MembershipOutput(serializers.Serializer[Any]):
    user_id = serializers.IntegerField()
    organization_id = serializers.IntegerField()
    role = serializers.CharField()
    name = serializers.CharField()
    domain = serializers.CharField()


class MemberInput(Input):
    some_of = ("role", "status")
    role = Choice(choices=ROLES, required=False)
    status = Choice(choices=STATES, required=False)

    def validate(self, fields: Any) -> Any:
        if not fields:
            raise serializers.ValidationError("role or status is needed")
        return fields


class MemberOutput(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="The person's.")
    email = serializers.CharField()
    full_name = serializers.CharField()
    role = serializers.CharField()
    status = serializers.CharField()
    mfa_enabled = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class MembersOutput(serializers.Serializer[Any]):
    members = MemberOutput(many=True)
    total = serializers.IntegerField()


class OrganizationsView(PersonView):
    permissions: ClassVar = {"GET": PERSON, "POST": PERSON}

    @operation("list_organizations", responses=MembershipOutput(many=True))
    def get(self, request: Request) -> Response:
        """Your organizations and your role in each."""
        return Response([_organization(one) for one in members.list_memberships(self.person.person_id)])

    @operation("create_organization", request=OrganizationInput, responses={201: MembershipOutput})
    def post(self, request: Request) -> Response:
        """Create another organization with a tenant that you own, if the operator allows sign-up."""
        fields, person_id = self.read(OrganizationInput), self.person.person_id
        opened = found_organization(person_id, fields["name"], domain=fields.get("domain", ""), now=self.now())
        mine = members.list_memberships(person_id)
        made = next(one for one in mine if one.organization_id == opened.tenant.organization_id)
        return Response(_organization(made), status=201)


class MembersView(ControlView):
    permissions: ClassVar = {"GET": "team:read"}

    @operation("list_team_members", responses=MembersOutput)
    def get(self, request: Request) -> Response:
        """Members of the organization that owns this tenant, including suspended ones, by address."""
        there = members.list_members(tenant_of(self.caller))
        proven = with_second_factor([one.user_id for one in there])
        found = [_member(one, is_proven=one.user_id in proven) for one in there]
        return Response({"members": found, "total": len(found)})


class MemberView(ControlView):
    permissions: ClassVar = {"PATCH": "team:write", "DELETE": "team:write"}
    fresh: ClassVar = frozenset({"PATCH", "DELETE"})
    destroys: ClassVar = frozenset({"PATCH", "DELETE"})  # changes memberships and permissions

    @operation(
        "update_team_member",
        request=MemberInput,
        examples=[OpenApiExample("suspend", {"status": "suspended"}, request_only=True)],
        responses=MemberOutput,
    )
    def patch(self, request: Request, user_id: int) -> Response:
        """Change a role, suspend a member or end a suspension; applies from the next request on."""
        fields, tenant = self.read(MemberInput), tenant_of(self.caller)
        status = fields.get("status")
        changed = members.change_member(
            tenant,
            user_id,
            by=members.get_reach(self.person_id, tenant.name).role,
            role=fields.get("role"),
            is_suspended=None if status is None else status == "suspended",
            actor=self.caller.principal.label,
            now=self.now(),
        )
        return Response(_member(changed, is_proven=user_id in with_second_factor([user_id])))

    @operation("remove_team_member", request=None, responses={204: None})
    def delete(self, request: Request, user_id: int) -> Response:
        """Remove a member from the organization and all its tenants.  The account stays and may belong to others."""
        tenant = tenant_of(self.caller)
        by = members.get_reach(self.person_id, tenant.name).role
        members.take_role(tenant, user_id, by=by, actor=self.caller.principal.label, now=self.now())
        return Response(status=204)


def _organization(one: "Membership") -> dict[str, Any]:
    return {
        "user_id": one.user_id,
        "organization_id": one.organization_id,
        "role": one.role,
        "name": one.organization.name,
        "domain": one.organization.domain,
    }


def _member(one: "Membership", *, is_proven: bool) -> dict[str, Any]:
    return {
        "id": one.user_id,
        "email": one.user.email,
        "full_name": one.user.full_name,
        "role": one.role,
        "status": "suspended" if one.suspended_at else "active",
        "mfa_enabled": is_proven,
        "created_at": one.created_at,
    }
