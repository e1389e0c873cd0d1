"""How much each ranking counts in the fusion: every number that was chosen, with its source."""

from __future__ import annotations

from enrich.languages import understands
from search.queries import ParsedQuery

DENSE, TEXT = "dense", "text"

# Both halves alike. Measured for score fusion (docs/quality.md): text weights from 0.4 to 0.6
# differ by less than a point on the sets it was chosen on, and 0.5 is the middle.
EVEN = {DENSE: 0.5, TEXT: 0.5}
# Text first: what stands there exactly is asked for. Dense breaks ties and adds what text did not
# find. In rank fusion a chunk that dense ranks first and text second must not pass text's first,
# so the weight is below (k + 1) · (1/(k + 1) − 1/(k + 2)) = 0.016 for k = 60.
LOOKUP = {DENSE: 0.015, TEXT: 1.0}
# A sentence around a code (what to do about ERR_4022): full text knows which chunk holds it whole,
# a vector hardly tells it from ERR_4021.
CODED = {DENSE: 0.25, TEXT: 0.75}
# The vectors of a question in a language that the model was not made for, or in Vietnamese typed
# without its marks, say little; its words are found as well as ever.
WEAK = {DENSE: 0.15, TEXT: 0.85}
# A ranking of a rewritten question, beside 1 for the question itself: a guess may add, not rule.
VARIANT = 0.5


def weights(query: ParsedQuery, model: str, *, found_text: bool) -> dict[str, float]:
    """Weights of the two retrievers for a question.

    ``model`` embedded it; ``found_text`` says whether full text found anything for it.
    """
    if query.is_exact_lookup and found_text:
        return dict(LOOKUP)
    if found_text and (query.is_unmarked or not understands(model, query.language)):
        return dict(WEAK)
    if found_text and any(not code.isdecimal() for code in query.codes):
        return dict(CODED)
    return dict(EVEN)
