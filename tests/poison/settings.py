"""Those of the tests, with texts that end workers."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.poison.apps.PoisonConfig"]
