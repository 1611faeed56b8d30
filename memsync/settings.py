"""Django settings.  Those of adapters, the API and the admin's theme are imported from modules of their own.

docs/settings.md lists the environment variables, and what fails without them.
"""

import sys
from pathlib import Path
from typing import Any

from memsync.adapter_settings import (  # noqa: F401  (settings)
    CLASSIFIER,
    CONNECTOR_FETCHER,
    EMBEDDER,
    EXTRACTOR,
    KMS,
    MEMSYNC_HOME,
    RERANKER,
    RERANKER_TEXTS,
    WEBHOOK_SENDER,
)
from memsync.admin_theme import UNFOLD  # noqa: F401  (a setting)
from memsync.api_settings import REST_FRAMEWORK, SPECTACULAR_SETTINGS  # noqa: F401  (settings)
from memsync.env import env, env_float, env_int, env_list, env_proxies, env_secret

BASE_DIR = Path(__file__).resolve().parent.parent

# --- identity of this deployment ------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env_secret("SECRET_KEY")
DEPLOYMENT_ID = env.str("DEPLOYMENT_ID", default="memsync")  # bound into every key and ciphertext: never change it
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
TRUSTED_PROXIES = env_proxies("TRUSTED_PROXIES")  # proxies whose X-Forwarded-For is trusted

# --- apps -----------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "memsync",  # before the theme, because it overrides one of its files
    "unfold.apps.BasicAppConfig",
    "memsync.admin_app.MemsyncAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.idp.oidc",
    "apps.core",
    "apps.adapters",
    "apps.accounts",
    "apps.tenants",
    "apps.projects",
    "apps.policies",
    "apps.audit",
    "apps.outbox",
    "apps.apikeys",
    "apps.crypto",
    "apps.transparency",
    "apps.memories",
    "apps.history",
    "apps.edges",
    "apps.sources",
    "apps.entities",
    "apps.summaries",
    "apps.ingest",
    "apps.transfers",
    "apps.connectors",
    "apps.recall",
    "apps.breakglass",
    "apps.key_management",
    "apps.memory_types",
    "apps.webhooks",
    "apps.erasure",
    "apps.retention",
    "apps.api",
    "apps.web",
]
MIDDLEWARE = [
    "apps.api.middleware.RequestIdMiddleware",
    "memsync.middleware.ResponseHeaders",
    "memsync.middleware.PlainErrorPages",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memsync.middleware.SessionLimits",
    "memsync.middleware.StrangersForms",
    "memsync.middleware.KnownDevices",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "memsync.urls"
WSGI_APPLICATION = "memsync.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.web.navigation.colours",
            ]
        },
    }
]
# The published SDK crashes on a redirect, so nothing may ever add a slash.
APPEND_SLASH = False

# --- databases ------------------------------------------------------------------------------------------------------
# Four roles: the application (row-level security applies), the operator's admin (no ciphertext columns), the keyring
# (its own database, so that data and keys are backed up separately), and the owner, which only migrates.
AS_OWNER = env.bool("MEMSYNC_AS_OWNER", default=False)


DATABASE_PREPARE = env.bool("DATABASE_PREPARE", default=True)


def _database(url: str) -> dict[str, Any]:
    config: dict[str, Any] = env.db_url_config(url)
    return {
        **config,
        "ENGINE": "memsync.postgresql",
        "CONN_MAX_AGE": env_int("CONN_MAX_AGE", 600, (0, 86_400)),
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
        # Statements are prepared only on request (apps/core/prepared_sql.py), and then at once.
        "OPTIONS": {**config.get("OPTIONS", {}), "prepare_threshold": 0 if DATABASE_PREPARE else None},
    }


_application_url = env_secret("DATABASE_URL")
_keyring_url = env_secret("KEYRING_URL")
DATABASES = {
    "default": _database(env_secret("DATABASE_OWNER_URL", _application_url) if AS_OWNER else _application_url),
    "keyring": _database(env_secret("KEYRING_OWNER_URL", _keyring_url) if AS_OWNER else _keyring_url),
    "operator": _database(env_secret("OPERATOR_DATABASE_URL", _application_url)),
}
DATABASE_ROUTERS = ["memsync.routers.KeyringRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- cache and tasks ------------------------------------------------------------------------------------------------
CACHES = {"default": env.cache_url_config(env_secret("CACHE_URL", "locmemcache://"))}

CELERY_BROKER_URL = env_secret("CELERY_BROKER_URL", "")
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 600  # well below the broker's visibility timeout of 900 s, or a task runs twice
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
PGMQ_OPTIONS: dict[str, Any] = {
    "init_extension": False,  # `memsync up` and `memsync prepare` install the schema as plain SQL
    "visibility_timeout": 900,
    "use_notify": False,  # enabled only in workers, which read notifications (memsync/celery.py)
    "wait_time_seconds": 0,
    "polling_interval": 0.2,
    "pool_size": 4,
    "pool_timeout": 1.0,  # the client's default is 30 s, which an add would wait if the broker is gone
}
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    # Set explicitly: the client would otherwise prefer DATABASE_URL from the environment to the broker's URL.
    {**PGMQ_OPTIONS, "conn_string": CELERY_BROKER_URL.replace("pgmq", "postgresql", 1)}
    if CELERY_BROKER_URL.startswith("pgmq")
    else {"visibility_timeout": 900, "socket_connect_timeout": 1}
)
# A failed notification must not delay a request: the outbox row is already committed.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}
CELERY_TIMEZONE = "UTC"

# --- people ---------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "apps.accounts.passwords.VariedPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "full_name")},
    },
]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",  # for the operators' site
    "allauth.account.auth_backends.AuthenticationBackend",
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/admin/"  # of the operators' site; for other users see apps.web.adapters
SESSION_ENGINE = "apps.accounts.session_store"  # stores digests of session keys
SESSION_COOKIE_AGE = 12 * 3600
SESSION_IDLE_SECONDS = env_int("SESSION_IDLE_SECONDS", 1800, (60, 31_536_000))
SESSION_MAX_SECONDS = env_int("SESSION_MAX_SECONDS", SESSION_COOKIE_AGE, (60, 31_536_000))  # regardless of activity
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = env.bool("COOKIE_SECURE", default=False)
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE
# The prefix makes browsers enforce it: this host only, over TLS only.
SESSION_COOKIE_NAME = "__Host-sessionid" if SESSION_COOKIE_SECURE else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if SESSION_COOKIE_SECURE else "csrftoken"
DEVICE_COOKIE_NAME = "__Host-device" if SESSION_COOKIE_SECURE else "device"  # browsers that have signed in before
CSRF_FAILURE_VIEW = "apps.web.pages.csrf_failure"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
# Whether the API allows sign-up of users with tenants of their own.  `memsync up` enables it for its embedded instance.
# The browser pages offer no sign-up, and no mail is sent.
SIGNUP = env.bool("SIGNUP", default=False)
ACCOUNT_ADAPTER = "apps.web.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False  # this session stays; the others end because the password hash changed
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
# apps.apikeys.login_throttle counts in the database, for all processes; allauth would count per process.
ACCOUNT_RATE_LIMITS = False
MFA_RATE_LIMITS = False
MFA_ADAPTER = "apps.web.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_FORMS = {"activate_totp": "apps.web.forms.AddCodesForm"}
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "memsync"
MFA_TOTP_TOLERANCE = 1

# OAuth for clients of people, at /v1/mcp (docs/oauth.md).  Only allauth's clients are used of its provider.
OAUTH_ISSUER = env.str("OAUTH_ISSUER", default="")  # this server's address for clients; empty: no OAuth
OAUTH_REGISTRATION = env.bool("OAUTH_REGISTRATION", default=False)  # clients may register themselves (RFC 7591)
OAUTH_CLIENT_DOCUMENTS = env.bool("OAUTH_CLIENT_DOCUMENTS", default=False)  # a client's id may be a document's address

# --- keys and adapters ----------------------------------------------------------------------------------------------
# The class and options of each adapter: memsync/adapter_settings.py.
ALLOW_LOCAL_KEK = env.bool("ALLOW_LOCAL_KEK", default=False)  # `memsync up` enables it for its embedded instance
KEY_MAX_AGE_DAYS = env_int("KEY_MAX_AGE_DAYS", 365, (1, 36_500))  # age at which a data key is rotated on schedule
KEY_MAX_USES = env_int("KEY_MAX_USES", 2**32, (1_000, 2**48))
KEY_DESTROY_AFTER_DAYS = env_int("KEY_DESTROY_AFTER_DAYS", 0, (0, 36_500))  # 0: keys are destroyed only by hand
ROTATION_WORKERS = env_int("ROTATION_WORKERS", 1, (1, 64))
GATE_KEEP_FROM = env_float("GATE_KEEP_FROM", 0.1, (0, 1))  # least probability that a sentence is worth keeping
GATE_FORBIDDEN_FROM = env_float("GATE_FORBIDDEN_FROM", 0.9, (0, 1))  # least probability of a secret
RECALL_LEGS = env_list("RECALL_LEGS", ["dense", "lexical", "slot", "temporal", "graph"])
RECALL_MIN_RELEVANCE = env_float("RECALL_MIN_RELEVANCE", 0.0, (0, 1))  # if no hit reaches it, the answer is empty
RECALL_BUDGET_MS = env_float("RECALL_BUDGET_MS", 2000.0, (0, 600_000))
RECALL_CONCURRENCY = env_int("RECALL_CONCURRENCY", 1, (0, 1_000))  # recalls that compute at once in a process; 0: any
RECALL_CACHE_SECONDS = env_float("RECALL_CACHE_SECONDS", 60.0, (0, 86_400))
RECALL_CACHE_ANSWERS = env_int("RECALL_CACHE_ANSWERS", 100, (0, 1_000_000))  # cached answers per project and process
REFLECTIONS = env.bool("REFLECTIONS", default=True)  # of tenants whose sessions are summarized
RECALL_TRACE_SHARE = env_float("RECALL_TRACE_SHARE", 0.0, (0, 1))  # share of recalls that leave a trace
RECALL_TRACE_DAYS = env_int("RECALL_TRACE_DAYS", 7, (1, 3_650))
AUDIT_CHECKPOINT_DIR = env.str("AUDIT_CHECKPOINT_DIR", default=str(MEMSYNC_HOME / "checkpoints"))
EXTRACTOR_SECONDS = env_float("EXTRACTOR_SECONDS", 8.0, (0.1, 600))
READ_TURN_MS = env_int("READ_TURN_MS", 250, (1, 60_000))  # CPU time; a text that takes longer is kept unread
READ_DOCUMENT_MS = env_int("READ_DOCUMENT_MS", 2000, (1, 60_000))  # the same for texts beyond 2,000 characters
EXTRACTOR_DAILY_CALLS = env_int("EXTRACTOR_DAILY_CALLS", 10_000, (0, 1_000_000_000))
EXTRACTOR_DAILY_TOKENS = env_int("EXTRACTOR_DAILY_TOKENS", 10_000_000, (0, 10**12))
RERANKER_SECONDS = env_float("RERANKER_SECONDS", 0.5, (0.001, 60))
RERANKER_PROFILES = env_list("RERANKER_PROFILES", ["salience"])
RETENTION_DAYS = env_int("RETENTION_DAYS", 90, (0, 36_500))  # 0: forever, unless a policy sets less
RETENTION_ARCHIVE_DAYS = env_int("RETENTION_ARCHIVE_DAYS", 0, (0, 36_500))
RETENTION_BATCH = env_int("RETENTION_BATCH", 250, (1, 100_000))  # rows per transaction
RETENTION_PAUSE = env_float("RETENTION_PAUSE", 1.0, (0, 1_000))  # pause after a batch, as a multiple of its duration
PURGE_REWRITE_MB = env_int("PURGE_REWRITE_MB", 64, (0, 1_000_000))  # larger tables are not rewritten automatically
EXPORT_HOURS = env_int("EXPORT_HOURS", 72, (1, 8_760))  # for which an export's file is kept
EXPORT_LINK_MINUTES = env_int("EXPORT_LINK_MINUTES", 10, (1, 1_440))  # for which a link to it is valid, once
PRIVACY_DAYS = env_int("PRIVACY_DAYS", 30, (1, 365))  # to carry out a person's privacy request
WEBHOOK_SECONDS = env_float("WEBHOOK_SECONDS", 10.0, (0.1, 300))  # per attempt, name resolution included
WEBHOOK_DAYS = env_int("WEBHOOK_DAYS", 30, (1, 3_650))  # that a finished delivery can be looked up
EVENT_HOURS = env_int("EVENT_HOURS", 24, (1, 8_760))  # that a listener can read an event again
EVENT_LISTENERS = env_int("EVENT_LISTENERS", 1000, (1, 100_000))  # open event streams of a tenant in each web process
# "TENANT:/path", or "*:/path" for all tenants: directories that connectors may read.
CONNECTOR_FOLDERS = env_list("CONNECTOR_FOLDERS")
REVIEW_DAYS = env_int("REVIEW_DAYS", 30, (1, 3_650))
EMBED_INLINE_SECONDS = env_float("EMBED_INLINE_SECONDS", 2.0, (0, 60))

# --- API ------------------------------------------------------------------------------------------------------------
# REST_FRAMEWORK and SPECTACULAR_SETTINGS: memsync/api_settings.py.
FEEDBACK_MOVES_IMPORTANCE = env.bool("FEEDBACK_MOVES_IMPORTANCE", default=True)
RATE_LIMIT_TIER = env.str("RATE_LIMIT_TIER", default="unlimited")
MCP_ADDITIONS = ""  # a module with more tools, resources and prompts; for tests
MAX_BODY_BYTES = env_int("MAX_BODY_BYTES", 8 * 1024 * 1024, (1_024, 2**30))
MAX_UPLOAD_BYTES = env_int("MAX_UPLOAD_BYTES", 20 * 1024 * 1024, (1_024, 2**30))
DOCUMENT_READERS = env_int("DOCUMENT_READERS", 2, (1, 1_000))  # documents that this host's processes read at once
DOCUMENT_PLACES = MEMSYNC_HOME / "documents"  # lock files, empty
MAX_IMPORT_BYTES = env_int("MAX_IMPORT_BYTES", 64 * 1024 * 1024, (1_024, 2**31))
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
FILE_UPLOAD_HANDLERS: list[str] = []  # apps.api.multipart reads forms; Django would write files to disk

# --- browser --------------------------------------------------------------------------------------------------------
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_HSTS_SECONDS = 31_536_000 if SESSION_COOKIE_SECURE else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # other hosts of the same domain are not ours to bind to TLS
    "security.W008",  # no redirects: the published SDK crashes on one; a proxy may refuse plain HTTP
    "security.W021",  # nor add it to browsers' preload lists
]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
# No page or mail shows local variables, settings, headers or bodies, even with DEBUG on.
DEFAULT_EXCEPTION_REPORTER = "memsync.exception_reporter.PlaceReporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "memsync.exception_reporter.NothingFilter"
STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default=str(MEMSYNC_HOME / "static"))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True  # no collectstatic needed before the first request

# --- language, time, logs -------------------------------------------------------------------------------------------
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["memsync.formats"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "memsync.log_format.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "stream": sys.stderr, "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO")},
    # Our messages are constant, with allow-listed fields; of libraries' messages the formatter keeps only the template.
    # Django's own handlers are removed, since one prints messages unfiltered when DEBUG is on.
    "loggers": {
        "django": {"handlers": [], "level": "INFO"},
        "django.server": {"handlers": [], "level": "ERROR", "propagate": True},
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "celery.app.trace": {"level": "CRITICAL"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},  # a line for each message that no worker took in time
        "celery.beat": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},  # a line for each request that the demo makes
    },
}
