"""Django settings of the adapters: the class that implements each one, and its options.

memsync.settings imports this module first, so it also loads the running instance's environment for memsync.settings.
"""

from typing import Any

from memsync.env import env, env_int, env_json, env_networks, env_secret, home, load_instance

load_instance()
MEMSYNC_HOME = home()

KMS = {
    "BACKEND": env.str("KMS_BACKEND", default="apps.adapters.kms.local.LocalKeyring"),
    "OPTIONS": env_json("KMS_OPTIONS", {"path": str(MEMSYNC_HOME / "kek.json")}),
}
EMBEDDER = {
    "BACKEND": env.str("EMBEDDER_BACKEND", default="apps.adapters.embedders.local.FineTunedEmbedder"),
    "OPTIONS": env_json("EMBEDDER_OPTIONS", {"cache_dir": str(MEMSYNC_HOME / "models")}),
}
_classifier = env.str("CLASSIFIER_BACKEND", default="apps.adapters.classifiers.local.LocalClassifier")
CLASSIFIER: dict[str, Any] | None = (
    {
        "BACKEND": _classifier,
        "OPTIONS": env_json("CLASSIFIER_OPTIONS", {"cache_dir": str(MEMSYNC_HOME / "models")}),
    }
    if _classifier
    else None  # no classifier: everything is kept except what a guard or the filler test refuses
)
_extractor_url = env.str("EXTRACTOR_URL", default="")
EXTRACTOR: dict[str, Any] | None = (
    {
        "BACKEND": "apps.adapters.extractors.chat.ChatExtractor",
        "OPTIONS": {
            "url": _extractor_url,
            "model": env.str("EXTRACTOR_MODEL", default=""),
            "key": env_secret("EXTRACTOR_KEY", "") or None,
            "self_hosted": env.bool("EXTRACTOR_SELF_HOSTED", default=False),
            **env_json("EXTRACTOR_OPTIONS", {}),
        },
    }
    if _extractor_url
    else None  # no extractor: rules only
)
_reranker_url = env.str("RERANKER_URL", default="")
_reranker = env.str("RERANKER_BACKEND", default="apps.adapters.rerankers.local.LocalReranker")
RERANKER: dict[str, Any] | None = None  # no reranker
if _reranker_url:
    RERANKER = {
        "BACKEND": "apps.adapters.rerankers.http.HttpReranker",
        "OPTIONS": {
            "url": _reranker_url,
            "model": env.str("RERANKER_MODEL", default=""),
            "key": env_secret("RERANKER_KEY", "") or None,
            "self_hosted": env.bool("RERANKER_SELF_HOSTED", default=False),
            **env_json("RERANKER_OPTIONS", {}),
        },
    }
elif _reranker:
    RERANKER = {
        "BACKEND": _reranker,
        "OPTIONS": env_json("RERANKER_OPTIONS", {"cache_dir": str(MEMSYNC_HOME / "models")}),
    }
RERANKER_TEXTS = env_int("RERANKER_TEXTS", 50 if _reranker_url else 20, (1, 1_000))  # top candidates that it reads
WEBHOOK_SENDER = {
    "BACKEND": "apps.adapters.senders.http.HttpSender",
    "OPTIONS": {
        "allow_http": env.bool("WEBHOOK_ALLOW_HTTP", default=False),
        "networks": env_networks("WEBHOOK_NETWORKS"),  # allowed in addition to public addresses
    },
}
CONNECTOR_FETCHER = {
    "BACKEND": "apps.adapters.senders.http.HttpSender",
    "OPTIONS": {
        "allow_http": env.bool("CONNECTOR_ALLOW_HTTP", default=False),
        "networks": env_networks("CONNECTOR_NETWORKS"),  # allowed in addition to public addresses
    },
}
