"""Every table. Importing this package registers all of them on `Base.metadata`."""

from app.db.base import Base
from app.db.models.api_token import ApiToken
from app.db.models.attempt import Attempt, ModelRequestRow, RequestState, Transcript
from app.db.models.chore import Chore, ModelTest, ProblemImport
from app.db.models.execution_result import ExecutionResult
from app.db.models.heartbeat import Heartbeat
from app.db.models.judging import JobPurpose, JudgingJob, Rejudging, RejudgingStatus, SupersededJudgement
from app.db.models.model_endpoint import EndpointKind, ModelEndpoint
from app.db.models.problem import BuggyProgramRow, ProblemRow, ProblemSetRow
from app.db.models.recording import Recording, RecordingImport
from app.db.models.repair_score import BugScore, RepairAudit, RepairScore
from app.db.models.run import Run, RunStatus
from app.db.models.run_metrics import RunMetrics
from app.db.models.share_link import ShareLink
from app.db.models.trajectory import Trajectory, TrajectoryOutcome

__all__ = [
    "ApiToken",
    "Attempt",
    "Base",
    "BugScore",
    "BuggyProgramRow",
    "Chore",
    "EndpointKind",
    "ExecutionResult",
    "Heartbeat",
    "JobPurpose",
    "JudgingJob",
    "ModelEndpoint",
    "ModelRequestRow",
    "ModelTest",
    "ProblemImport",
    "ProblemRow",
    "ProblemSetRow",
    "Recording",
    "RecordingImport",
    "Rejudging",
    "RejudgingStatus",
    "RepairAudit",
    "RepairScore",
    "RequestState",
    "Run",
    "RunMetrics",
    "RunStatus",
    "ShareLink",
    "SupersededJudgement",
    "Trajectory",
    "TrajectoryOutcome",
    "Transcript",
]
