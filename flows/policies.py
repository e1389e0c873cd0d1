"""What is tried again: failures that can pass, and no others."""

from __future__ import annotations

from typing import Any

from enrich.models import EmbeddingFailed
from store.errors import StoreError

RETRIES = 3
DELAYS = [2.0, 10.0, 30.0]  # seconds


def is_transient(error: BaseException) -> bool:
    """Whether the same call can succeed later: lost connections, deadlocks, busy providers."""
    return isinstance(error, StoreError | EmbeddingFailed) and error.transient


def retry_transient(_task: Any, _run: Any, state: Any) -> bool:
    """Prefect's ``retry_condition_fn``."""
    try:
        state.result()
    except Exception as error:
        return is_transient(error)
    return False
