"""Opens what the settings name: the database, and the keys that go with it."""

from __future__ import annotations

import os

from flows.settings import Settings, secret
from store.database import Store, database_url, open_store


def open_from(settings: Settings) -> Store:
    """Open the settings' database, starting the embedded one.

    Raises DatabaseUnusable, KeyProblem.
    """
    if settings.openai.base_url:
        # Where the openai client looks; a variable that is set already wins.
        os.environ.setdefault("OPENAI_BASE_URL", settings.openai.base_url)
    given = settings.database_url.get_secret_value() if settings.database_url else None
    key = secret(settings)
    return open_store(database_url(given, settings.home), key)
