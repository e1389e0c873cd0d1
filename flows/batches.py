"""How a batch goes through a step: what can be taken goes on, the rest is put aside (I12).

Errors of the database and of the embedding model concern the run and go up, as Ctrl-C does.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol
from uuid import UUID

from enrich.models import EmbeddingFailed, Truncated
from flows.job import AnyWritingJob, WritingJob
from flows.lanes import Lane, Lanes
from flows.stopping import Stopped, go_on
from parsers.elements import Unreadable
from store.errors import FencedError, StoreError
from store.publishing import VersionsChanged

RUN_ERRORS = (StoreError, FencedError, EmbeddingFailed, Stopped)

Step = Callable[[WritingJob, Lane, UUID], list[UUID]]


class LaneStep(Protocol):
    """Takes a batch through a stage for one version, which may be one beside the first."""

    def __call__(
        self, job: WritingJob, lane: Lane, batch: Sequence[UUID], *, beside: bool = False
    ) -> list[UUID]:
        """Return what can go on."""
        ...


def each_lane(job: WritingJob, lanes: Lanes, batch: Sequence[UUID], step: LaneStep) -> list[UUID]:
    """Take a batch through a step for each version. What the first took goes on."""
    done = step(job, lanes.first, batch)
    for lane in lanes.every[1:]:
        step(job, lane, still_in(job, lane, done), beside=True)
    return done


def still_in(job: WritingJob, lane: Lane, batch: Sequence[UUID]) -> list[UUID]:
    """The revisions of a batch that a version was not left without."""
    return [r for r in batch if (lane.version.id, r) not in job.left_out]


def each(
    job: WritingJob,
    lane: Lane,
    batch: Sequence[UUID],
    step: Step,
    *,
    stage: str | None = None,
    beside: bool = False,
) -> list[UUID]:
    """Take each revision of a batch through a step.

    Put aside what cannot be taken; ``beside`` the first version, leave the version without it.
    """
    done: list[UUID] = []
    for revision_id in batch:
        if beside:
            go_on()
            try:
                done += step(job, lane, revision_id)
            except (*RUN_ERRORS, VersionsChanged):
                raise
            except Exception:
                job.left_out.add((lane.version.id, revision_id))
        else:
            done += tried(job, revision_id, lambda job, revision: step(job, lane, revision))
        if stage is not None:
            job.progress.advance(stage)
    return done


def tried(
    job: AnyWritingJob, revision_id: UUID, step: Callable[[AnyWritingJob, UUID], list[UUID]]
) -> list[UUID]:
    """Take a revision through a step; put it aside when it cannot be taken (I12)."""
    go_on()
    try:
        return step(job, revision_id)
    except (*RUN_ERRORS, VersionsChanged):
        raise
    except Exception as error:
        _put_aside(job, revision_id, error)
        return []


def _put_aside(job: WritingJob, revision_id: UUID, error: Exception) -> None:
    match error:
        case Unreadable():
            job.put_aside(revision_id, error.code, error.hint)
        case Truncated():
            job.tally.add("truncated")
            job.put_aside(revision_id, "too_long", "")
        case KeyError():
            pass  # deleted or erased while we worked
        case _:  # a defect of ours: it must not stop the others (I12)
            job.put_aside(revision_id, "internal_error", place_of(error))


def place_of(error: BaseException) -> str:
    """The type of an error and where in mucluc it arose; its text may quote the document (I10)."""
    home = Path(__file__).resolve().parent.parent
    places = [
        f"{Path(frame.filename).relative_to(home)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(home) and ".venv" not in frame.filename
    ]
    return f"{type(error).__name__} at {places[-1] if places else 'a library'}"
