"""The shapes of /api/v1 as types. Made by `python -m leaderboard.manage client_shapes`; do not edit.

Choices are plain text here, because a newer site may have more of them.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Accepted(TypedDict):
    id: int
    status: str
    board: str
    hardware: str
    mode: str
    url: str
    events: str
    notes: list[str]


class AdmissionDetail(TypedDict):
    id: int
    problem: str
    digest: str
    hardware: str
    state: str
    outcome: str
    marks: list[str]
    margin: float | None
    overridden: bool
    open: bool
    created_at: str
    finished_at: str | None
    message: str
    override_reason: str
    lines: list[AdmissionLine]


class AdmissionLine(TypedDict):
    name: str
    expected: str
    got: str
    good: bool | None
    explained: str
    figures: dict[str, Any]


class AdmissionSummary(TypedDict):
    id: int
    problem: str
    digest: str
    hardware: str
    state: str
    outcome: str
    marks: list[str]
    margin: float | None
    overridden: bool
    open: bool
    created_at: str
    finished_at: str | None


class Affiliation(TypedDict):
    affiliation: str


class Agent(TypedDict):
    name: str
    created_at: str
    tokens: list[AgentToken]


class AgentToken(TypedDict):
    id: int
    name: str
    prefix: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    device_s_per_day: int | None
    per_hour: int | None


class AgentTokenRevoked(TypedDict):
    revoked: bool


class AnalyticsDay(TypedDict):
    date: str
    submissions: dict[str, int]


class AnalyticsFailure(TypedDict):
    verdict: str
    reason: str
    count: int


class AnalyticsFigures(TypedDict):
    days: list[AnalyticsDay]
    funnel: list[AnalyticsStep]
    failures: list[AnalyticsFailure]


class AnalyticsStep(TypedDict):
    step: str
    count: int


class AppealAnswer(TypedDict):
    text: str
    scores: NotRequired[dict[str, int] | None]


class AppealLine(TypedDict):
    id: int
    author: str
    text: str
    created_at: str
    answer: str
    answered_by: NotRequired[str | None]
    answered_at: str | None


class Appeals(TypedDict):
    made: int | None
    granted: int | None
    upheld: int | None


class ApplyRequest(TypedDict):
    reason: str
    leave_out: NotRequired[bool]
    anyway: NotRequired[bool]


class AskForTest(TypedDict):
    board: str
    hardware: str


class AskRequest(TypedDict):
    seen: NotRequired[int | None]
    question: str


class AssignmentLine(TypedDict):
    id: int
    title: str
    tier: int
    boards: list[BoardName]
    due_at: str
    group_size: int
    rubric: int | None
    graders_each: int
    moderate_from: int | None
    grading_began_at: str | None
    released_at: str | None


class AssignmentSettings(TypedDict):
    title: NotRequired[str]
    tier: NotRequired[int]
    boards: NotRequired[list[BoardName]]
    due_at: NotRequired[str]
    group_size: NotRequired[int]
    rubric: NotRequired[int | None]
    graders_each: NotRequired[int]
    moderate_from: NotRequired[int | None]


class Attached(TypedDict):
    prompt: NotRequired[str]
    answer: NotRequired[str]
    turn: NotRequired[int | None]
    submission: int


class AwardDesk(TypedDict):
    track: str
    state: str
    stale: NotRequired[bool]
    winners: NotRequired[list[Winner]]
    skipped: NotRequired[list[SkippedEntrant]]
    pairs: NotRequired[list[AwardPair]]
    steps: NotRequired[list[AwardStep]]


class AwardPair(TypedDict):
    upper: str
    lower: str
    where: str
    gap: str
    confirmation: str
    why: str
    settled: bool


class AwardStep(TypedDict):
    state: str
    by: str
    reason: str
    at: str


class Awards(TypedDict):
    slug: str
    name: str
    description: str
    won_by: str
    divisions: list[str]
    eligibility: str
    ties: str
    prizes: list[Prize]
    announced_at: str | None
    winners: list[Winner]


class BanLine(TypedDict):
    id: int
    network: str
    reason: str
    ends_at: str


class BanRequest(TypedDict):
    reason: str
    network: str
    days: NotRequired[int]
    confirm: NotRequired[bool]


class Batch(TypedDict):
    id: int
    state: str
    mode: str
    size: int
    arrived: int
    budget_s: float
    spent_s: float
    bar: float | None
    stages: dict[str, int]
    outcomes: dict[str, int]
    created_at: str
    settled_at: str | None
    feedback: str
    events: str
    candidates: list[Candidate]


class BatchProblem(TypedDict):
    board: str
    hardware: str
    attempts: int
    correct: int
    faster: int
    best_ratio: float | None


class BatchReport(TypedDict):
    id: int
    state: str
    mode: str
    size: int
    judged: int
    correct: int
    faster: int
    not_standing: int
    p: float
    figures: list[FiguresAtK]
    stages: dict[str, int]
    problems: list[BatchProblem]
    spent_s: float
    device_s_per_speedup: float | None
    cost_usd: float | None
    cost_usd_per_speedup: float | None
    candidates: list[ReportedCandidate]


class BatchSummary(TypedDict):
    id: int
    state: str
    mode: str
    size: int
    arrived: int
    budget_s: float
    spent_s: float
    bar: float | None
    stages: dict[str, int]
    outcomes: dict[str, int]
    created_at: str
    settled_at: str | None
    feedback: str
    events: str


class Board(TypedDict):
    slug: str
    title: str
    competition: str
    competition_slug: str
    hardware: list[str]
    deadline: str | None
    open: bool
    entries: dict[str, int]


class BoardCheckLine(TypedDict):
    board: str
    hardware: str
    ready: bool
    missing: str
    planted: list[PlantedLine]


class BoardDetail(TypedDict):
    slug: str
    title: str
    competition: str
    competition_slug: str
    hardware: list[str]
    deadline: str | None
    open: bool
    entries: dict[str, int]
    description: str
    templates: dict[str, str]
    reference: str | None
    ranking_by: str
    cases: dict[str, list[dict[str, Any]]]
    benchmarks_on: dict[str, list[dict[str, Any]]]
    epochs: dict[str, list[Epoch]]
    languages: dict[str, list[str]]


class BoardName(TypedDict):
    board: str
    hardware: str


class BoardOfRuns(TypedDict):
    id: int
    board: str
    hardware: str
    sent: int


class BoardRequest(TypedDict):
    board: str
    hardware: str
    digest: NotRequired[str]
    deadline: NotRequired[str | None]
    tags: NotRequired[list[str]]
    reason: NotRequired[str]


class BoardResult(TypedDict):
    board: str
    hardware: str
    rank: int
    tied: bool
    ratio: float
    speedup: float
    points: float


class ByItself(TypedDict):
    rejected: int | None
    overturned: int | None


class Candidate(TypedDict):
    number: int
    submission: int
    board: str
    hardware: str
    status: str
    outcome: str
    arrival: int | None
    same_as: int | None


class CaseDetail(TypedDict):
    case: CaseSummary
    current: bool
    outcome: str
    reason: str
    message: str
    score_us: float | None
    half_width: float | None
    forgeable: float | None
    runner: NotRequired[str | None]
    rank: int | None
    takes_two: bool
    suspended: bool
    may_decide: bool
    acts: dict[str, str]
    seen: int | None
    findings: list[Finding]
    hint: Hint | None
    cases: list[TimedCase]
    report_problem: str
    incumbent: NotRequired[int | None]
    clocks: list[Clock]
    telemetry: Telemetry | None
    machine: dict[str, Any]
    filename: str
    code: str | None
    compared: list[Compared]
    history: list[SubmissionSummary]
    log: list[LogLine]
    others: list[int]


class CaseSummary(TypedDict):
    id: int
    submission: int
    owner: str
    entrant: str
    competition: str
    board: str
    hardware: str
    state: str
    origin: str
    opened_at: str
    since: str
    claimed_by: str | None
    claimed_until: str | None
    labels: list[str]
    rules: list[str]
    ratio: float | None


class CaseTime(TypedDict):
    measured_us: float
    baseline_us: float | None
    ratio: float | None
    half_width: float | None


class ChangeLine(TypedDict):
    at: str
    act: str
    who: str
    reason: str
    changes: list[list[str]]


class ChangedResult(TypedDict):
    submission: int
    entrant: str
    board: str
    change: str
    rules: list[RuleStep]


class CheckLine(TypedDict):
    text: str
    good: bool | None
    section: str
    line: int | None
    number: str


class CheckedProblem(TypedDict):
    digest: str
    hardware: list[str]
    warnings: list[str]


class ChoiceOfSubmissions(TypedDict):
    competition: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    kind: str
    version: NotRequired[str]
    runner: NotRequired[str]
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    ids: NotRequired[list[int]]


class ChosenSubmissions(TypedDict):
    submissions: int
    left_out: int
    estimate_s: float


class ClaimRequest(TypedDict):
    reason: NotRequired[str]


class ClassDetail(TypedDict):
    slug: str
    name: str
    role: str
    url: str
    stuck_days: int
    assignments: list[AssignmentLine]


class ClassSettings(TypedDict):
    stuck_days: int


class ClassSummary(TypedDict):
    slug: str
    name: str
    role: str
    url: str


class ClearRequest(TypedDict):
    seen: NotRequired[int | None]
    reason: str
    public_reason: NotRequired[str]


class Clock(TypedDict):
    case: str
    clock: str
    sides: list[SideOfClock]


class CloneRequest(TypedDict):
    slug: str
    name: str
    shift_days: NotRequired[int | None]


class CloseRequest(TypedDict):
    board: str
    hardware: str
    reason: str


class CodeDifference(TypedDict):
    lines: list[str]
    cut: bool
    refusal: str
    added: int
    removed: int


class Compared(TypedDict):
    title: str
    submission: int
    entrant: str
    added: int
    removed: int
    cut: bool
    refusal: str
    diff: list[str]


class ComparedCase(TypedDict):
    name: str
    first: CaseTime | None
    second: CaseTime | None
    change: float | None


class ComparedEntry(TypedDict):
    submission: int
    board: str
    hardware: str
    user: str
    rank: int | None
    ratio: float
    speedup: float
    score_us: float
    half_width: float | None
    epoch: str
    submitted_at: str


class Comparison(TypedDict):
    first: ComparedEntry
    second: ComparedEntry
    same_problem: bool
    comparable: bool
    change: float
    cases: list[ComparedCase]
    code: CodeDifference


class CompetitionDetail(TypedDict):
    slug: str
    name: str
    visibility: str
    phase: str
    until: str | None
    entrants: int
    description: str
    rules: str
    rules_digest: str
    meaning: str
    phases: list[PhaseStep]
    times: Times
    divisions: list[str]
    agents_rank: str
    max_team_size: int
    merge_deadline: str | None
    problems: list[ProblemOf]
    tracks: list[Track]
    announcements: list[News]
    you: You | None


class CompetitionState(TypedDict):
    at: str
    waiting: list[PendingWork]
    queues: list[QueueState]
    runners: list[HostState]
    epochs: list[ContestEpoch]


class CompetitionSummary(TypedDict):
    slug: str
    name: str
    visibility: str
    phase: str
    until: str | None
    entrants: int


class CompiledSummary(TypedDict):
    id: int
    problem: str
    digest: str
    hardware: str
    epoch: str
    state: str
    outcome: str
    message: str
    score_us: float | None
    ratio: float | None
    half_width: float | None
    created_at: str
    finished_at: str | None


class ConfirmRequest(TypedDict):
    reason: NotRequired[str]


class ConfirmationLine(TypedDict):
    id: int
    board: str
    hardware: str
    cause: str
    candidate: int
    incumbent: int
    state: str
    runs: str
    waits: bool
    closed: str
    has_report: bool
    created_at: str


class ContestEpoch(TypedDict):
    hardware: str
    epoch: NotRequired[str]
    pinned_at: NotRequired[str | None]
    others: list[str]


class Cost(TypedDict):
    cost_usd: str


class Counts(TypedDict):
    held: int | None
    cleared: int | None
    rejected: int | None
    waiting: int | None
    again: int | None


class CoverageAtK(TypedDict):
    k: int
    observed: Estimate | None
    fitted: Estimate | None


class CoverageFit(TypedDict):
    never: Estimate
    p: Estimate


class Criterion(TypedDict):
    key: str
    name: str
    weight: int
    levels: list[str]


class DataSet(TypedDict):
    name: str
    made_at: str
    bytes: int
    rows: dict[str, dict[str, int]]
    left_out: dict[str, dict[str, int]]
    card: str
    files: list[DataSetFile]


class DataSetChoice(TypedDict):
    choice: str


class DataSetFile(TypedDict):
    path: str
    bytes: int
    sha256: str


class DecidedEpoch(TypedDict):
    hardware: str
    epoch: str
    state: str


class Declared(TypedDict):
    declared: list[str]


class DeleteProblemRequest(TypedDict):
    board: str
    slug: str
    reason: str


class DeleteRequest(TypedDict):
    slug: str
    reason: str


class DeskAct(TypedDict):
    id: int
    act: str
    object: str
    by: NotRequired[str | None]
    reason: str
    at: str
    may_undo: bool


class DeviceCode(TypedDict):
    device_code: str


class DeviceLogin(TypedDict):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DiscussionPost(TypedDict):
    id: int
    kind: str
    author: str
    text: str
    created_at: str
    removal: str


class Division(TypedDict):
    division: str
    model_name: NotRequired[str]


class DraftPart(TypedDict):
    kind: str
    name: NotRequired[str]
    text: str


class EnrolmentLine(TypedDict):
    id: int
    prefix: str
    name: str
    hardware: str
    expires_at: str


class EnterRequest(TypedDict):
    code: NotRequired[str]
    rules_digest: NotRequired[str]
    division: NotRequired[str]
    model_name: NotRequired[str]


class Entry(TypedDict):
    rank: int
    tied: bool
    user: str
    division: str
    model_name: str
    model: str
    cost_usd: str | None
    affiliation: str
    team: bool
    ratio: float
    speedup: float
    score_us: float
    half_width: float | None
    forgeable: float
    telemetry: str
    light: float | None
    runs: int
    epoch: str
    submitted_at: str
    submission: int
    record: str


class EntryDetail(TypedDict):
    submission: int
    board: str
    hardware: str
    user: str
    rank: int | None
    tied: bool
    stage: str
    ratio: float
    speedup: float
    score_us: float
    half_width: float | None
    submitted_at: str
    shown: bool
    filename: str
    licence: str
    remixed_from: int | None
    remixes: list[int]
    model: str
    lineage: Lineage | None
    code_public: bool
    code_public_at: str | None
    code: str | None
    taken_down: str


class Epoch(TypedDict):
    name: str
    since: str | None
    current: bool


class EpochRequest(TypedDict):
    reason: str
    hardware: str
    epoch: str


class Error(TypedDict):
    detail: str
    code: str
    errors: list[WrongField]


class Estimate(TypedDict):
    value: float
    low: float
    high: float


class ExtensionLine(TypedDict):
    id: int
    assignment: int
    student: str
    until: str
    reason: str
    created_at: str


class Feedback(TypedDict):
    format: str
    about: FeedbackAbout | None
    outcome: str
    reason: str
    message: str
    stage: str
    diagnostics: list[FeedbackDiagnostic]
    failing: FeedbackFailing | None
    checks_passed: int
    errors: list[FeedbackErrors]
    times: list[FeedbackTimes]
    ratio: float | None
    half_width: float | None
    score_us: float | None
    light_share: float | None
    bound: FeedbackBound | None
    held_by: list[FeedbackHeldBy]
    flags: list[str]
    problem: str


class FeedbackAbout(TypedDict):
    submission: int
    candidate: int | None
    arrival: int | None
    board: str
    hardware: str
    mode: str
    filename: str
    status: str
    review: str | None
    published: bool


class FeedbackBound(TypedDict):
    by: str
    sentence: str
    hot: list[str]


class FeedbackDiagnostic(TypedDict):
    file: str
    line: int
    column: int | None
    message: str


class FeedbackElement(TypedDict):
    output: int
    index: list[int]
    expected: str
    got: str


class FeedbackErrors(TypedDict):
    case: str
    output: int
    good: bool
    elements: int
    different: int
    relative_l2: float | None
    limit_l2: float | None
    worst_abs: float | None
    worst_share: float | None


class FeedbackFailing(TypedDict):
    case: str
    public: bool
    arguments: dict[str, Any] | None
    reason: str
    message: str
    first: FeedbackElement | None
    worst: FeedbackElement | None


class FeedbackHeldBy(TypedDict):
    rule: str
    case: str
    value: float | None
    threshold: float | None
    sentence: str


class FeedbackTimes(TypedDict):
    case: str
    measured_us: float
    baseline_us: float
    ratio: float
    low: float
    high: float
    light_share: float | None
    limited_by: str


class FiguresAtK(TypedDict):
    k: int
    pass_at_k: Estimate
    fast_p_at_k: Estimate
    best_of_k: float | None


class FinaliseRequest(TypedDict):
    reason: str
    anyway: NotRequired[bool]


class Finding(TypedDict):
    rule: str
    sentence: str
    threshold: float | None
    figures: dict[str, Any]
    samples: Any


class FoundPerson(TypedDict):
    id: int
    username: str
    found_by: str


class GradeLine(TypedDict):
    grader: str
    scores: dict[str, int]
    text: str
    moderated: bool
    points: float | None
    submitted_at: str | None


class GradeRow(TypedDict):
    student: str
    username: str
    section: str
    assignment: str
    state: str
    handed_in_at: str | None
    late_s: int | None
    points: float | None
    match: int | None
    work: int | None
    levels: dict[str, float | None]


class GridRow(TypedDict):
    student: str
    username: str
    section: str
    assignment: str
    level: int
    stage: str
    due_at: str
    handed_in_at: str | None
    late_s: int | None
    best_speedup: float | None
    model_speedup: float | None
    last_activity_at: str | None
    stuck: str
    match: int | None


class HandInLine(TypedDict):
    id: int
    by: str
    at: str
    digest: str


class Hint(TypedDict):
    checker: str
    words: list[str]
    failure: str


class HoldRequest(TypedDict):
    submission: int
    reason: str


class HostState(TypedDict):
    name: str
    hardware: str
    state: str
    why: str
    epoch: str
    doing: str
    submission: int | None


class ImportedProblem(TypedDict):
    problem: str
    status: str
    change: str
    field: str
    reason: str
    hardware: list[str]
    digest: str
    warnings: list[str]


class ImportedSet(TypedDict):
    file: str
    name: str
    status: str
    competition: str
    visibility: str
    field: str
    reason: str
    warnings: list[str]
    problems: list[ImportedProblem]


class IncidentNoteRequest(TypedDict):
    text: str
    ends: NotRequired[bool]


class IncidentNoteRow(TypedDict):
    text: str
    at: str


class IncidentRequest(TypedDict):
    title: str
    text: str


class IncidentRow(TypedDict):
    title: str
    began_at: str
    notes: list[IncidentNoteRow]


class Intake(TypedDict):
    accepting: bool


class IntegrityFigures(TypedDict):
    as_of: str
    exact: bool
    rules: list[Outcomes]
    total: Counts
    by_itself: ByItself
    median_wait_s: float | None
    rejudged: int | None
    appeals: Appeals
    podium: list[Podium]


class Invite(TypedDict):
    id: int
    competition: str
    team: str
    invited_by: str
    created_at: str


class InviteCodeLine(TypedDict):
    id: int
    prefix: str
    note: str
    opens_all: bool
    boards: list[str]
    used_by: NotRequired[str | None]
    created_at: str


class JoinRequest(TypedDict):
    code: str


class Key(TypedDict):
    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str


class Keys(TypedDict):
    keys: list[Key]


class LabelRequest(TypedDict):
    label: str


class Left(TypedDict):
    board: str
    hardware: str
    mode: str
    left: int
    capacity: int
    per_day: int
    next_at: str | None


class Lineage(TypedDict):
    parents: list[int]
    idea: str
    model: str
    prompt_sha256: str
    sampling: dict[str, Any]
    cost_usd: float | None
    strategy: str
    run: str


class LogLine(TypedDict):
    id: int
    act: str
    by: str
    at: str
    code: str
    text: str
    public_reason: str
    about: int | None
    rank: int | None
    undone: bool


class MachinesRow(TypedDict):
    hardware: str
    ready: int
    queued: int
    running: int
    wait_s: float | None


class MadeAgentToken(TypedDict):
    id: int
    name: str
    prefix: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    device_s_per_day: int | None
    per_hour: int | None
    token: str


class MadeEnrolment(TypedDict):
    id: int
    prefix: str
    name: str
    hardware: str
    expires_at: str
    code: str


class MaintenanceRow(TypedDict):
    text: str
    until: str


class MatchCase(TypedDict):
    name: str
    human: NotRequired[float | None]
    machine: NotRequired[float | None]
    ahead: str


class MatchDetail(TypedDict):
    id: int
    board: str
    hardware: str
    human: str
    model: str
    machine: str
    public: bool
    texts_public: bool
    closed_at: str | None
    created_at: str
    predicted: bool
    versions: dict[str, int]
    result: str
    said: str
    url: str
    prediction: MatchPrediction | None
    measured: MatchMeasured | None
    compiled: NotRequired[float | None]
    human_versions: list[MatchVersion]
    machine_versions: list[MatchVersion]
    cases: list[MatchCase]


class MatchMeasured(TypedDict):
    bound: str
    light_share: float | None
    sentence: str


class MatchPrediction(TypedDict):
    bound: str
    speedup: float
    why: str
    committed_at: str


class MatchSummary(TypedDict):
    id: int
    board: str
    hardware: str
    human: str
    model: str
    machine: str
    public: bool
    texts_public: bool
    closed_at: str | None
    created_at: str
    predicted: bool
    versions: dict[str, int]
    result: str
    said: str
    url: str


class MatchVersion(TypedDict):
    number: int
    submission: int
    status: str
    outcome: str
    compiled: bool
    correct: bool
    faster: bool
    ratio: float | None
    half_width: float | None
    reason: str
    expected: float | None
    prompt: str
    answer: str
    turn: int | None
    created_at: str


class Me(TypedDict):
    username: str
    token: Token


class Member(TypedDict):
    captain: bool
    username: str
    joined_at: str


class MessageRequest(TypedDict):
    group: NotRequired[str]
    subject: str
    text: str


class ModelBoardLine(TypedDict):
    model: str
    problems: int
    kernels: int
    pass_at_1: Estimate
    attempts: int
    attempted: int
    eager: list[Estimate]
    against_compiled: list[Estimate]
    best: list[ModelKernel]


class ModelKernel(TypedDict):
    board: str
    entry: int
    ratio: float
    least_speedup: float
    least_against_compiled: float | None


class Money(TypedDict):
    amount: str
    currency: str


class MyEntrant(TypedDict):
    captain: bool
    competition: str
    name: str
    shown_name: str
    team: bool
    division: str
    model_name: str
    cost_usd: str | None
    affiliation: str
    pseudonym: str
    declared: list[str]


class Name(TypedDict):
    name: str


class NewAgent(TypedDict):
    name: str


class NewAgentToken(TypedDict):
    name: str
    scopes: NotRequired[list[str]]
    days: NotRequired[int]
    device_s_per_day: NotRequired[int]
    per_hour: NotRequired[int]


class NewAnswer(TypedDict):
    prompt: NotRequired[str]
    answer: NotRequired[str]
    turn: NotRequired[int | None]
    code: NotRequired[str]
    filename: NotRequired[str]
    lineage: NotRequired[NewLineage | None]


class NewAppeal(TypedDict):
    text: str


class NewAssignment(TypedDict):
    title: str
    tier: int
    boards: list[BoardName]
    due_at: str
    group_size: NotRequired[int]
    rubric: NotRequired[int | None]
    graders_each: NotRequired[int]
    moderate_from: NotRequired[int | None]


class NewAttachment(TypedDict):
    submissions: list[Attached]


class NewBatch(TypedDict):
    board: NotRequired[str]
    hardware: NotRequired[str]
    mode: str
    budget_s: float
    bar: NotRequired[float | None]
    fresh: NotRequired[bool]
    candidates: list[NewCandidate]


class NewBoard(TypedDict):
    digest: str
    hardware: str
    slug: NotRequired[str]
    deadline: NotRequired[str | None]
    tags: NotRequired[list[str]]


class NewCandidate(TypedDict):
    code: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    filename: NotRequired[str]
    licence: NotRequired[str]
    remixed_from: NotRequired[int | None]
    lineage: NotRequired[NewLineage | None]


class NewClass(TypedDict):
    competition: str
    stuck_days: NotRequired[int]


class NewCodes(TypedDict):
    codes: list[str]


class NewCodesRequest(TypedDict):
    count: int
    boards: NotRequired[list[str]]
    note: NotRequired[str]


class NewCompetition(TypedDict):
    name: str
    description: NotRequired[str]
    rules: NotRequired[str]
    visibility: NotRequired[str]
    practice_at: NotRequired[str | None]
    contest_at: NotRequired[str | None]
    freeze_at: NotRequired[str | None]
    deadline: NotRequired[str | None]
    merge_deadline: NotRequired[str | None]
    stays_open: NotRequired[bool]
    divisions: NotRequired[list[str]]
    agents_rank: NotRequired[str]
    max_team_size: NotRequired[int]
    scoring: NotRequired[str]
    two_person_rule: NotRequired[bool]
    default_licence: NotRequired[str]
    slug: str


class NewEnrolment(TypedDict):
    name: str
    hardware: str
    minutes: NotRequired[int]


class NewExtension(TypedDict):
    student: str
    until: str
    reason: str


class NewGrade(TypedDict):
    scores: dict[str, int]
    text: NotRequired[str]


class NewHandIn(TypedDict):
    id: int
    by: str
    at: str
    digest: str
    missing: list[str]


class NewLineage(TypedDict):
    parents: NotRequired[list[int]]
    idea: NotRequired[str]
    model: NotRequired[str]
    prompt_sha256: NotRequired[str]
    sampling: NotRequired[dict[str, Any]]
    cost_usd: NotRequired[float | None]
    strategy: NotRequired[str]
    run: NotRequired[str]


class NewMatch(TypedDict):
    model: str
    machine: NotRequired[str]


class NewPlanted(TypedDict):
    submission: int
    must_fail: bool


class NewPost(TypedDict):
    kind: NotRequired[str]
    text: str


class NewPrediction(TypedDict):
    bound: str
    speedup: float
    why: str


class NewProblem(TypedDict):
    title: str
    description: str
    settings: str
    files: list[DraftPart]
    submission_name: NotRequired[str]
    slug: str


class NewRejudgeSet(TypedDict):
    competition: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    kind: str
    version: NotRequired[str]
    runner: NotRequired[str]
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    ids: NotRequired[list[int]]
    name: str
    reason: str


class NewRemark(TypedDict):
    section: str
    text: str
    line: NotRequired[int | None]
    number: NotRequired[str]


class NewRoster(TypedDict):
    text: str


class NewRubric(TypedDict):
    name: str
    criteria: list[Criterion]


class NewSetFetch(TypedDict):
    hardware: NotRequired[list[str]]
    without_deadlines: NotRequired[bool]
    precision: NotRequired[str]
    address: str
    ref: NotRequired[str]
    folder: NotRequired[str]


class NewSetUpload(TypedDict):
    hardware: NotRequired[list[str]]
    without_deadlines: NotRequired[bool]
    precision: NotRequired[str]
    archive: str


class NewSubmission(TypedDict):
    board: NotRequired[str]
    hardware: NotRequired[str]
    mode: str
    filename: NotRequired[str]
    licence: NotRequired[str]
    remixed_from: NotRequired[int | None]
    lineage: NotRequired[NewLineage | None]
    code: NotRequired[str]
    file: NotRequired[str | None]


class NewTeam(TypedDict):
    name: str
    division: NotRequired[str]
    model_name: NotRequired[str]


class NewText(TypedDict):
    text: str
    revision: int


class NewToken(TypedDict):
    token: str
    name: str
    scopes: list[str]
    username: str
    expires_at: str | None


class NewVersion(TypedDict):
    code: str
    filename: NotRequired[str]
    licence: NotRequired[str]
    reason: NotRequired[str]
    expected: NotRequired[float | None]


class NewWork(TypedDict):
    board: str
    hardware: str
    model: str
    machine: NotRequired[str]


class News(TypedDict):
    title: str
    text: str
    created_at: str


class NewsLine(TypedDict):
    id: int
    title: str
    text: str
    created_at: str
    withdrawn_at: str | None


class NewsRequest(TypedDict):
    title: str
    text: NotRequired[str]


class NoteRequest(TypedDict):
    text: str


class Notification(TypedDict):
    id: int
    kind: str
    subject: str
    title: str
    text: str
    url: str
    count: int
    created_at: str
    updated_at: str
    read_at: str | None


class NotificationChoices(TypedDict):
    page: NotRequired[list[str]]
    mail: NotRequired[list[str]]
    webhook: NotRequired[list[str]]


class NotificationSettings(TypedDict):
    page: list[str]
    mail: list[str]
    webhook: list[str]
    webhook_host: str
    webhook_format: str
    webhook_on: bool
    webhook_failure: str
    sends_mail: bool


class OpenedIncident(TypedDict):
    title: str
    began_at: str
    notes: list[IncidentNoteRow]
    id: int
    ended_at: str | None


class Organised(TypedDict):
    name: str
    description: str
    rules: str
    visibility: str
    practice_at: str | None
    contest_at: str | None
    freeze_at: str | None
    deadline: str | None
    merge_deadline: str | None
    stays_open: bool
    divisions: list[str]
    agents_rank: str
    max_team_size: int
    scoring: str
    two_person_rule: bool
    default_licence: str
    slug: str
    final_at: str | None


class OrganisedBoard(TypedDict):
    slug: str
    hardware: str
    problem: str
    digest: str
    deadline: str | None
    tags: list[str]


class OrganisedSummary(TypedDict):
    slug: str
    name: str
    visibility: str


class OrganisedTrack(TypedDict):
    name: str
    kind: str
    hardware: NotRequired[str]
    board: NotRequired[str]
    tag: NotRequired[str]
    speedup: NotRequired[float | None]
    divisions: NotRequired[list[str]]
    eligibility: NotRequired[str]
    ties: NotRequired[str]
    description: NotRequired[str]
    position: NotRequired[int]
    slug: str
    prizes: list[PrizeRequest]


class Outcomes(TypedDict):
    held: int | None
    cleared: int | None
    rejected: int | None
    waiting: int | None
    again: int | None
    rule: str
    meaning: str


class OwnGrade(TypedDict):
    work: int
    match: int
    state: str
    points: float | None
    rubric: RubricLine
    grades: list[GradeLine]
    remarks: list[RemarkLine]
    appeals: list[AppealLine]


class OwnScores(TypedDict):
    scores: dict[str, int]
    text: NotRequired[str]
    final: NotRequired[bool]


class OwnerRequest(TypedDict):
    text: str


class OwnersView(TypedDict):
    state: str
    opened_at: str
    by_itself: bool
    overturned: bool
    median_wait_s: float | None
    question: Said | None
    may_answer: bool
    rejection: Rejection | None
    appeal: Said | None
    appeal_answer: Said | None
    may_appeal: bool
    appeal_until: str | None


class ParentKernel(TypedDict):
    submission: int
    own: bool
    user: str
    ratio: float
    runs: int
    similarity: float
    model: str
    idea: str
    licence: str
    filename: str
    code: str


class PatchedTrackRequest(TypedDict):
    name: NotRequired[str]
    kind: NotRequired[str]
    hardware: NotRequired[str]
    board: NotRequired[str]
    tag: NotRequired[str]
    speedup: NotRequired[float | None]
    divisions: NotRequired[list[str]]
    eligibility: NotRequired[str]
    ties: NotRequired[str]
    description: NotRequired[str]
    position: NotRequired[int]


class PendingWork(TypedDict):
    what: str
    count: int
    urgent: bool


class PersonBadge(TypedDict):
    text: str
    url: str


class PersonBoard(TypedDict):
    board: str
    title: str
    hardware: str
    competition: str
    entrant: str
    rank: int
    tied: bool
    entrants: int
    ratio: float
    speedup: float
    score_us: float
    submission: int
    was_first: bool


class PersonDetail(TypedDict):
    id: int
    username: str
    active: bool
    staff: bool
    logins: list[str]
    entrants: list[PersonsEntrant]
    tokens: list[PersonsToken]
    quotas: list[QuotaExceptionLine]


class PersonEntry(TypedDict):
    submission: int
    board: str
    hardware: str
    entrant: str
    ratio: float
    score_us: float
    epoch: str
    submitted_at: str


class PersonProfile(TypedDict):
    name: str
    boards: list[PersonBoard]
    badges: list[PersonBadge]
    activity: list[PersonWeek]
    teams: list[PersonTeam]


class PersonRequest(TypedDict):
    reason: str
    name: NotRequired[str]


class PersonTeam(TypedDict):
    name: str
    url: str


class PersonWeek(TypedDict):
    since: str
    entries: int


class PersonsEntrant(TypedDict):
    id: int
    competition: str
    name: str
    pseudonym: str
    team: bool


class PersonsToken(TypedDict):
    id: int
    prefix: str
    name: str


class PhaseStep(TypedDict):
    title: str
    since: str | None
    until: str | None
    state: str


class PinRequest(TypedDict):
    hardware: str
    epoch: str
    reason: str


class PlaceRequest(TypedDict):
    place: int


class PlantedLine(TypedDict):
    id: int
    submission: int
    must_fail: bool
    outcome: str
    right: bool | None


class Podium(TypedDict):
    board: str
    hardware: str
    place: int
    cleared: bool
    by_two: bool
    reason: str
    on: str


class PostRemoved(TypedDict):
    removed: bool


class PostReported(TypedDict):
    reported: bool


class Prize(TypedDict):
    place: int
    amount: str | None
    currency: str
    other: str
    sponsor: str


class PrizeRequest(TypedDict):
    place: int
    amount: NotRequired[str | None]
    currency: NotRequired[str]
    other: NotRequired[str]
    sponsor: NotRequired[str]


class ProblemDraft(TypedDict):
    title: str
    description: str
    settings: str
    files: list[DraftPart]
    submission_name: NotRequired[str]


class ProblemFolder(TypedDict):
    board: str
    hardware: str
    digest: str
    problem: dict[str, Any]


class ProblemLine(TypedDict):
    slug: str
    title: str
    competition: str
    competition_slug: str
    hardware: list[str]
    tags: list[str]
    level: int | None
    open: bool
    status: str
    ranks: dict[str, int]


class ProblemOf(TypedDict):
    board: str
    title: str
    hardware: list[str]


class Profile(TypedDict):
    case: str
    bound: str
    sentence: str
    figures: list[ProfileFigure]
    rows: list[ProfileRow]
    notes: list[str]


class ProfileFigure(TypedDict):
    name: str
    percent: float | None
    about: str


class ProfileFile(TypedDict):
    name: str
    about: str
    bytes: int
    url: str


class ProfileRow(TypedDict):
    name: str
    calls: int
    us: float
    share: float


class ProposedEpoch(TypedDict):
    hardware: str
    epoch: str
    title: str
    current: NotRequired[str]
    differences: list[str]
    runners: list[str]
    current_runners: int


class Pseudonym(TypedDict):
    pseudonym: str


class PublishedTexts(TypedDict):
    titles: dict[str, str]
    texts: dict[str, str]
    handed_in_at: str


class Quantity(TypedDict):
    quantity: str
    unit: str
    low: float
    high: float


class QueuePlace(TypedDict):
    position: int
    queued: int
    runners: int
    wait_s: float | None
    text: str


class QueueState(TypedDict):
    hardware: str
    queued: int
    running: int
    own_queued: int
    own_running: int
    requested_queued: int
    requested_running: int
    runners: int
    oldest: str


class QuotaExceptionLine(TypedDict):
    id: int
    competition: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    mode: str
    capacity: int
    per_day: int
    ends_at: str


class QuotaExceptionRequest(TypedDict):
    reason: str
    competition: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    mode: str
    capacity: int
    per_day: int
    days: NotRequired[int]


class QuotaOfMode(TypedDict):
    capacity: int
    per_day: int


class Quotas(TypedDict):
    quotas: dict[str, QuotaOfMode]


class QuotasRequest(TypedDict):
    quotas: dict[str, QuotaOfMode]
    reason: str


class ReadCount(TypedDict):
    read: int


class ReadRequest(TypedDict):
    ids: NotRequired[list[int]]


class Reason(TypedDict):
    reason: str
    blocks: int


class ReasonIfAny(TypedDict):
    reason: NotRequired[str]


class ReasonRequest(TypedDict):
    reason: str


class Record(TypedDict):
    user: str
    submission: int
    since: str
    until: str | None
    ratio: float
    speedup: float
    gain: float | None


class RejectRequest(TypedDict):
    seen: NotRequired[int | None]
    reason: str
    public_reason: NotRequired[str]
    code: str
    hold_others: NotRequired[bool]


class Rejection(TypedDict):
    text: str
    at: str
    code: str


class RejudgeEffect(TypedDict):
    set: RejudgeSetLine
    counts: dict[str, int]


class RejudgeItemLine(TypedDict):
    submission: int
    board: str
    hardware: str
    entrant: str
    mode: str
    fate: str
    verdict_before: str
    verdict_after: str
    ratio_before: float | None
    half_width_before: float | None
    score_us_before: float | None
    epoch_before: str | None
    ratio_after: float | None
    half_width_after: float | None
    score_us_after: float | None
    epoch_after: str | None
    factor: float | None
    beyond_noise: bool
    rank_before: int | None
    rank_after: int | None


class RejudgePlace(TypedDict):
    board: str
    hardware: str
    stage: str
    group: str
    place: int
    before: str
    after: str


class RejudgeSetDetail(TypedDict):
    set: RejudgeSetLine
    fates: dict[str, int]
    left_behind: int
    podium: list[RejudgePlace]


class RejudgeSetLine(TypedDict):
    id: int
    competition: str
    board: NotRequired[str]
    hardware: NotRequired[str]
    name: str
    reason: str
    selection: dict[str, Any]
    state: str
    submissions: int
    judged: int
    estimate_s: float
    created_by: str
    created_at: str
    stopped_at: str | None
    settled_at: str | None


class RemarkLine(TypedDict):
    id: int
    grader: str
    section: str
    line: int | None
    number: str
    text: str
    created_at: str


class RemovePostRequest(TypedDict):
    reason: NotRequired[str]


class RemoveRequest(TypedDict):
    board: str
    force: NotRequired[bool]
    reason: NotRequired[str]


class RemovedBoards(TypedDict):
    removed: int
    closed: int


class ReportPostRequest(TypedDict):
    reason: str


class ReportedCandidate(TypedDict):
    number: int
    arrival: int | None
    submission: int
    board: str
    hardware: str
    status: str
    outcome: str
    stage: str
    review: str | None
    ratio: float | None
    speedup: float | None
    half_width: float | None
    judged: bool
    correct: bool
    faster: bool
    judged_before: bool
    same_as: int | None


class RerunRequest(TypedDict):
    reason: str


class RetractRequest(TypedDict):
    reason: NotRequired[str]


class Retracted(TypedDict):
    lines: int


class RevisedProblem(TypedDict):
    title: str
    description: str
    settings: str
    files: list[DraftPart]
    submission_name: NotRequired[str]
    reason: NotRequired[str]


class RevokeRequest(TypedDict):
    code: str
    reason: NotRequired[str]


class RevokeRole(TypedDict):
    username: str


class Revoked(TypedDict):
    prefix: str
    was_used: bool


class RewardLine(TypedDict):
    id: int
    status: str
    reward: float | None
    low: float | None
    high: float | None
    speedup: float | None
    half_width: float | None
    reason: str
    message: str


class RewardsAnswer(TypedDict):
    formula: str
    correct: float
    cap: float
    only_correct: bool
    rewards: list[RewardLine]


class RewardsRequest(TypedDict):
    ids: list[int]
    formula: NotRequired[str]
    correct: NotRequired[float]
    cap: NotRequired[float]
    only_correct: NotRequired[bool]


class RoleLine(TypedDict):
    username: str
    role: str
    created_at: str


class RoleRequest(TypedDict):
    username: str
    role: str


class RosterImported(TypedDict):
    added: int
    changed: int
    unchanged: int


class RosterLogin(TypedDict):
    login: str


class RosterRow(TypedDict):
    login: str
    username: str
    name: str
    section: str
    seat: int | None
    joined_at: str | None


class RubricLine(TypedDict):
    id: int
    name: str
    version: int
    frozen_at: str | None
    criteria: list[Criterion]


class RuleStep(TypedDict):
    rule: str
    value: float | None
    change: str


class RunComparison(TypedDict):
    boards: list[BoardOfRuns]
    board: BoardOfRuns | None
    models: list[str]
    budget: float
    lines: list[RunLine]


class RunLine(TypedDict):
    run: str
    strategy: str
    models: str
    candidates: int
    passed: int
    device_s: float
    cost_usd: float | None
    best: NotRequired[int | None]
    best_ratio: NotRequired[float | None]
    at_equal_budget: int | None


class RunnerChanged(TypedDict):
    name: str
    token: str


class RunnerLine(TypedDict):
    name: str
    hardware: str
    state: str
    why: str
    epoch: str
    seen_at: str | None
    submission: int | None
    stage: str
    host: str
    device: int
    cores: str
    node: int | None


class Said(TypedDict):
    text: str
    at: str


class SamplingLesson(TypedDict):
    model: str
    models: list[str]
    problems: int
    samples: int
    turns: int
    fit: CoverageFit | None
    coverage: list[CoverageAtK]
    equal_cost: list[TurnAtEqualCost]


class SearchHit(TypedDict):
    title: str
    about: str
    url: str


class SearchResults(TypedDict):
    people: list[SearchHit]
    problems: list[SearchHit]
    competitions: list[SearchHit]


class SeatSettings(TypedDict):
    name: NotRequired[str]
    section: NotRequired[str]


class SectionLine(TypedDict):
    name: str
    students: int
    expected: int


class SectionName(TypedDict):
    name: str


class Seeds(TypedDict):
    public: bool
    public_at: str | None
    cases: list[SeedsOfCase]


class SeedsOfCase(TypedDict):
    case: str
    kind: str
    arguments: dict[str, Any]
    seeds: list[str]
    more: int


class SentMessage(TypedDict):
    recipients: int


class ServiceStatus(TypedDict):
    at: str
    ok: bool
    summary: str
    machines: list[MachinesRow]
    incidents: list[IncidentRow]
    maintenance: MaintenanceRow | None


class SetUploadDetail(TypedDict):
    id: int
    filename: str
    digest: str
    origin: str
    waiting: bool
    fault: str
    uploaded_by: str
    created_at: str
    applied_at: str | None
    counts: dict[str, int]
    hardware: list[str]
    without_deadlines: bool
    precision: str
    sets: list[ImportedSet]


class SetUploadLine(TypedDict):
    id: int
    filename: str
    digest: str
    origin: str
    waiting: bool
    fault: str
    uploaded_by: str
    created_at: str
    applied_at: str | None
    counts: dict[str, int]


class SettingsRequest(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str]
    rules: NotRequired[str]
    visibility: NotRequired[str]
    practice_at: NotRequired[str | None]
    contest_at: NotRequired[str | None]
    freeze_at: NotRequired[str | None]
    deadline: NotRequired[str | None]
    merge_deadline: NotRequired[str | None]
    stays_open: NotRequired[bool]
    divisions: NotRequired[list[str]]
    agents_rank: NotRequired[str]
    max_team_size: NotRequired[int]
    scoring: NotRequired[str]
    two_person_rule: NotRequired[bool]
    default_licence: NotRequired[str]
    reason: NotRequired[str]


class SettledConfirmation(TypedDict):
    id: int
    state: str
    outcome: str


class ShareLine(TypedDict):
    competition: str
    hardware: str
    percent: int


class ShareRequest(TypedDict):
    reason: str
    competition: str
    hardware: str
    percent: int | None


class SideOfClock(TypedDict):
    side: str
    calls: int
    median_us: float


class Signed(TypedDict):
    result: dict[str, Any]
    jws: str


class SkippedEntrant(TypedDict):
    name: str
    reason: str


class StandingState(TypedDict):
    phase: str
    frozen: bool
    held: int
    unjudged: int
    possible: list[str]


class StandingsLine(TypedDict):
    rank: int
    tied: bool
    user: str
    division: str
    affiliation: str
    score: float
    low: float | None
    high: float | None
    solved: int
    boards: list[BoardResult]


class StartLogin(TypedDict):
    name: str
    scopes: NotRequired[list[str]]


class Stats(TypedDict):
    num_submissions: int
    num_users: int
    num_unique_codes: int
    num_runs: int
    runs_passed: int
    runs_failed: int
    runs_unfinished: int


class StopRequest(TypedDict):
    sentence: NotRequired[str]
    minutes: NotRequired[int]


class Submission(TypedDict):
    id: int
    status: str
    board: str
    hardware: str
    mode: str
    url: str
    events: str
    filename: str
    licence: str
    created_at: str
    outcome: str
    reason: str
    message: str
    ratio: float | None
    speedup: float | None
    score_us: float | None
    half_width: float | None
    forgeable: float | None
    telemetry: str
    epoch: str
    flags: list[str]
    published: bool
    review: str | None
    unranked: str | None
    withdrawn: bool
    remixed_from: NotRequired[int | None]
    lineage: Lineage | None
    queue: QueuePlace | None
    code: str | None
    taken_down: str
    cases: list[dict[str, Any]]
    logs: dict[str, str]
    report_problem: str
    profile: Profile | None
    files: list[ProfileFile]
    rank: int | None
    value: Value | None


class SubmissionSummary(TypedDict):
    id: int
    status: str
    board: str
    hardware: str
    mode: str
    url: str
    events: str
    filename: str
    licence: str
    created_at: str
    outcome: str
    reason: str
    message: str
    ratio: float | None
    speedup: float | None
    score_us: float | None
    half_width: float | None
    forgeable: float | None
    telemetry: str
    epoch: str
    flags: list[str]
    published: bool
    review: str | None
    unranked: str | None
    withdrawn: bool


class SubmissionTree(TypedDict):
    models: list[str]
    nodes: list[TreeNode]
    path: list[int]


class SuspensionLine(TypedDict):
    username: str
    competition: NotRequired[str]
    reason: str
    by: str
    since: str


class SuspensionRequest(TypedDict):
    reason: str
    username: str
    competition: NotRequired[str]


class Team(TypedDict):
    entrant: MyEntrant | None
    must_accept: bool
    people_fixed: str
    division_fixed: bool
    members: list[Member]
    waiting: list[Waiting]
    invites: list[Invite]


class Telemetry(TypedDict):
    blocks: int
    quantities: list[Quantity]
    reasons: list[Reason]


class ThresholdEffect(TypedDict):
    looked: int
    unmeasured: int
    held_before: int
    held_after: int
    results: list[ChangedResult]


class ThresholdLine(TypedDict):
    rule: str
    meaning: str
    held: str
    threshold: float | None
    usual: float
    least: float
    most: float
    may_be_off: bool


class ThresholdsRequest(TypedDict):
    thresholds: dict[str, Any]
    reason: str


class TimedCase(TypedDict):
    case: str
    measured_us: float | None
    baseline_us: float | None
    ratio: float | None
    half_width: float | None
    against_incumbent: float | None
    light_us: float | None
    light_share: float | None
    measured_limit_us: float | None
    resource: str
    eager_us: float | None


class Times(TypedDict):
    practice_at: str | None
    contest_at: str | None
    freeze_at: str | None
    deadline: str | None
    revealed_at: str | None
    final_at: str | None


class Token(TypedDict):
    name: str
    scopes: list[str]


class Track(TypedDict):
    slug: str
    name: str
    description: str
    won_by: str
    divisions: list[str]
    eligibility: str
    ties: str
    prizes: list[Prize]


class TrackSettings(TypedDict):
    name: str
    kind: str
    hardware: NotRequired[str]
    board: NotRequired[str]
    tag: NotRequired[str]
    speedup: NotRequired[float | None]
    divisions: NotRequired[list[str]]
    eligibility: NotRequired[str]
    ties: NotRequired[str]
    description: NotRequired[str]
    position: NotRequired[int]


class TreeNode(TypedDict):
    submission: int
    parents: list[int]
    ratio: float | None
    outcome: NotRequired[str]
    device_s: float
    idea: str
    model: str
    strategy: str
    run: str
    cost_usd: float | None


class TryThresholds(TypedDict):
    thresholds: dict[str, Any]


class TurnAtEqualCost(TypedDict):
    turn: int
    serial: Estimate
    budget: float | None
    k: int | None
    samples: Estimate | None


class Username(TypedDict):
    username: str


class Value(TypedDict):
    ratio: float
    speedup: float
    score_us: float
    half_width: float | None
    forgeable: float
    submissions: list[int]
    tied: bool
    current_epoch: bool
    stage: str
    shown: bool


class Waiting(TypedDict):
    id: int
    username: str
    created_at: str


class WebhookRequest(TypedDict):
    address: str
    format: NotRequired[str]


class WebhookSaved(TypedDict):
    host: str
    format: str
    secret: str


class WebhookSecret(TypedDict):
    secret: str


class WebhookTested(TypedDict):
    host: str


class Winner(TypedDict):
    place: int
    shared_by: int
    winner: str
    money: list[Money]
    other: list[str]
    sponsors: str
    reason: str


class WithReason(TypedDict):
    seen: NotRequired[int | None]
    reason: str


class Withdraw(TypedDict):
    invite: int


class WithdrawNews(TypedDict):
    id: int
    reason: str


class WorkDetail(TypedDict):
    work: int
    match: int
    state: str
    points: float | None
    rubric: RubricLine
    grades: list[GradeLine]
    remarks: list[RemarkLine]
    appeals: list[AppealLine]
    assignment: int
    authors: list[str]
    handed_in_at: NotRequired[str | None]
    texts: dict[str, str]
    checks: list[CheckLine]


class Worklog(TypedDict):
    schema: int
    match: WorklogMatch
    titles: dict[str, str]
    texts: dict[str, str]
    missing: list[str]
    facts: dict[str, list[WorklogFact]]
    extracts: dict[str, list[WorklogExtract]]
    runs: NotRequired[dict[str, Any]]
    hand_in: HandInLine | None
    revisions: dict[str, int]


class WorklogExtract(TypedDict):
    title: str
    kind: str
    text: str
    url: str
    is_cut: bool


class WorklogFact(TypedDict):
    name: str
    text: str
    speedup: float | None
    half_width: NotRequired[float | None]
    submission: int | None
    url: str


class WorklogMatch(TypedDict):
    id: int
    problem: str
    board: str
    hardware: str
    human: str
    model: str
    machine: str


class WorklogSection(TypedDict):
    section: str
    title: str
    text: str
    revision: int
    saved_by: str
    saved_at: str | None
    facts: list[WorklogFact]
    extracts: list[WorklogExtract]


class WrongField(TypedDict):
    field: str
    value: Any
    message: str


class You(TypedDict):
    entrant: NotRequired[str | None]
    accepted: bool
    may_enter: bool
    team: NotRequired[bool | None]
    division: NotRequired[str | None]
    quota: list[Left]
