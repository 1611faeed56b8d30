"""The root URL configuration."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("app/", include("apps.web.urls")),
    path("oauth/", include("apps.web.oauth.urls")),
    path("", include("apps.api.urls")),
]
