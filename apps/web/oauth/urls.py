"""Addresses that clients of OAuth call.  The page where a person decides is in ``apps.web.urls``."""

from django.urls import path

from apps.web.oauth import endpoints

urlpatterns = [
    path(".well-known/oauth-authorization-server", endpoints.metadata, name="oauth_metadata"),
    path(".well-known/openid-configuration", endpoints.metadata),  # where clients look that know no other place
    path("oauth/register", endpoints.register, name="oauth_register"),
    path("oauth/token", endpoints.token, name="oauth_token"),
    path("oauth/revoke", endpoints.revoke, name="oauth_revoke"),
]
