"""The product's settings with a predictable embedder and a fast password hasher."""

from memsync.settings import *  # noqa: F403

EMBEDDER = {"BACKEND": "apps.adapters.embedders.fake.FakeEmbedder", "OPTIONS": {}}
CLASSIFIER = {"BACKEND": "tests.classifiers.PlainClassifier", "OPTIONS": {}}
RERANKER = None
WEBHOOK_SENDER = {"BACKEND": "apps.adapters.senders.fake.FakeSender", "OPTIONS": {}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = False
RECALL_BUDGET_MS = 0.0  # a busy machine cuts nothing; tests of the budget set one
WHITENOISE_AUTOREFRESH = True  # every client of a test rebuilds the middleware: look for files when they are asked for
