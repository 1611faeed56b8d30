"""Addresses below /oauth/ that clients of OAuth call.  The page where a person decides is in ``apps.web.urls``."""

from django.urls import path

from apps.web.oauth import endpoints

urlpatterns = [
    path("register", endpoints.register, name="oauth_register"),
    path("token", endpoints.token, name="oauth_token"),
    path("revoke", endpoints.revoke, name="oauth_revoke"),
]
