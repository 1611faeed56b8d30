"""Settings of Django REST framework and of the OpenAPI schema.  Imported by memsync.settings."""

from importlib.metadata import version

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["apps.api.permissions.DenyByDefault"],
    "DEFAULT_PARSER_CLASSES": ["apps.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["apps.api.renderers.OrjsonRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.api.errors.handle",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "memsync",
    "VERSION": version("memsync"),
    "DESCRIPTION": "Encrypted memory for AI agents.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.schema.add_refusals",
        "apps.api.openapi_links.add_links",
    ],
    "ENUM_NAME_OVERRIDES": {
        "TypedMemoryTypeEnum": "apps.memories.typed.NAMES",
        "EnvironmentEnum": "apps.api.control.keys.ENVIRONMENTS",
        "SignatureAlgorithmEnum": "apps.api.control.webhook_fields.ALGORITHMS",
        "EventTypeEnum": "apps.webhooks.events.TYPES",
        "DeliveryStatusEnum": "apps.api.control.webhook_fields.STATUSES",
        "RouteEnum": "apps.api.memory.search_routed.CHOICES",
        "PrivacyTypeEnum": "apps.api.v1.privacy.KINDS",
        "TypeEnum": "apps.api.v1.entities.ENTITY_TYPES",
        "ScopeEnum": "apps.api.exports.views.REACHES",
        "PlatformScopeEnum": "apps.api.platform.base.SCOPES",
        "KindEnum": ["contradiction", "conflict"],
        "ConnectorKindEnum": "apps.api.v1.connectors.KINDS",
        "ConnectorStatusEnum": "apps.api.v1.connectors.STATUSES",
        "ObjectKindEnum": "apps.sources.sealing.OBJECT_KINDS",
        "ErasureStatusEnum": "apps.api.profiles.erasures.STATES",
        "TokenScopeEnum": "apps.api.profiles.tokens.NAMES",
        "TokenStatusEnum": "apps.api.profiles.tokens.STATES",
        "TypeFieldKindEnum": "apps.memories.type_fields.KINDS",
    },
}
