"""How much each ranking counts in the fusion: every number that was chosen, with its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from search.queries import ParsedQuery

DENSE, TEXT = "dense", "text"

# Plain RRF (Cormack, Clarke and Buettcher, SIGIR 2009) counts both halves alike.
EVEN = {DENSE: 1.0, TEXT: 1.0}
# Text first. A chunk that dense ranks first and text second must not pass text's first, so the
# weight is below (k + 1) · (1/(k + 1) − 1/(k + 2)) = 0.016 for k = 60: dense breaks ties further
# down and adds what text did not find.
LOOKUP = {DENSE: 0.015, TEXT: 1.0}
# A ranking of a rewritten question, beside 1 for the question itself: a guess may add, not rule.
VARIANT = 0.5


def weights(
    query: ParsedQuery, dense: Sequence[Mapping[str, Any]], text: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Weights of the two retrievers for a question and what they found for it as it is.

    ``dense`` rows have ``distance``, ``text`` rows ``score``, best first; either may be empty.
    """
    if query.is_exact_lookup and text:
        return dict(LOOKUP)
    return dict(EVEN)
