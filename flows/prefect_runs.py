"""Old runs in Prefect's database: a server that lasts forgets them itself, ours is told to."""

from __future__ import annotations

from datetime import datetime

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
)

BATCH = 100


def forget_runs(before: datetime) -> int:
    """Delete flow runs that began before a moment, with their tasks and artifacts.

    Returns how many. Of every flow that the server in PREFECT_API_URL knows.
    """
    old = FlowRunFilter(
        expected_start_time=FlowRunFilterExpectedStartTime.model_validate({"before_": before})
    )
    total = 0
    with get_client(sync_client=True) as client:
        while runs := client.read_flow_runs(flow_run_filter=old, limit=BATCH):
            ids = [run.id for run in runs]
            theirs = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=ids))
            while found := client.read_artifacts(artifact_filter=theirs, limit=BATCH):
                for artifact in found:
                    client.delete_artifact(artifact.id)
            for run in ids:
                client.delete_flow_run(run)
            total += len(ids)
    return total
