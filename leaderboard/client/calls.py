"""The calls of /api/v1, one function each. A Call is a value: both clients send it and read its answer alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

from . import shapes
from .account import Misuse

T = TypeVar("T")
MAX_ID_DIGITS: Final = 18  # limit of the site's keys
PAGE: Final = 200  # maximum of the site's lists


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the type of its answer."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)  # by field: name, content; sent as a form
    headers: Mapping[str, str] = field(default_factory=dict)
    many: bool | None = False  # the answer is a list; None: it may be
    is_file: bool = False  # the answer is bytes
    most_bytes: int = 0  # of the answer; 0: the usual limit
    needs_token: bool = True
    is_safe: bool = False  # to send again if no answer came
    most: int = 0  # of the items of a list that is fetched page by page; 0: the answer is one page


def _get(path: str, *, public: bool = False, **params: str) -> Call[Any]:
    given = {name: value for name, value in params.items() if value}
    return Call("GET", path, given, needs_token=not public, is_safe=True)


def _list(path: str, *, public: bool = False, most: int = 0, **params: str) -> Call[Any]:
    given = {name: value for name, value in params.items() if value}
    return Call("GET", path, given, many=True, needs_token=not public, is_safe=True, most=most)


def _act(path: str, **body: Any) -> Call[Any]:
    return Call("POST", path, body=body)


def _once(path: str, body: Mapping[str, Any], key: str) -> Call[Any]:
    """Return a call that the site takes once for a key, which may be repeated."""
    return Call("POST", path, body=body, headers={"Idempotency-Key": key or str(uuid4())}, is_safe=True)


def segment(value: object) -> str:
    """Return any name as a single, quoted path segment."""
    text = str(value)
    if text in ("", ".", ".."):
        raise Misuse(f"name: {text!r} is none; see `photofinish boards`")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise Misuse(f"name: {text!r} is not text in UTF-8; see `photofinish boards`") from None


def submission_id(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS):
        raise Misuse(f"ID: {text!r} is not the number of a submission, such as 26; see `photofinish list`")
    return text


def match_id(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS):
        raise Misuse(f"MATCH: {text!r} is not the number of a match, such as 3; see `photofinish match list`")
    return text


def assignment_id(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS):
        raise Misuse(f"ASSIGNMENT: {text!r} is not the number of an assignment; `photofinish class show CLASS` has it")
    return text


def me() -> Call[shapes.Me]:
    """Return the caller's name, and the scopes of the token."""
    return _get("/me")


def start_login(name: str, scopes: Sequence[str]) -> Call[shapes.DeviceLogin]:
    """Begin a sign-in by code: the person confirms the short code on the site."""
    return Call("POST", "/login/device", body={"name": name, "scopes": list(scopes)}, needs_token=False)


def poll_login(device_code: str) -> Call[shapes.NewToken]:
    """Return the token of a confirmed sign-in. Refused with `authorization_pending` until then."""
    return Call("POST", "/login/device/token", body={"device_code": device_code}, needs_token=False)


def status() -> Call[shapes.ServiceStatus]:
    """Return machines, queues and incidents of the site."""
    return _get("/status", public=True)


def competitions(most: int = 1_000) -> Call[list[shapes.CompetitionSummary]]:
    """List the competitions: running, coming, past."""
    return _list("/competitions", public=True, most=most)


def competition(slug: str) -> Call[shapes.CompetitionDetail]:
    """Return a competition with its rules, problems, announcements and the caller's entry."""
    return _get(f"/competitions/{segment(slug)}", public=True)


def enter(
    slug: str, *, code: str = "", rules_digest: str = "", division: str = "", model_name: str = ""
) -> Call[shapes.CompetitionDetail]:
    """Enter a competition, or accept its changed rules."""
    more = {name: value for name, value in (("division", division), ("model_name", model_name)) if value}
    return _act(f"/competitions/{segment(slug)}/enter", code=code, rules_digest=rules_digest, **more)


def standings(slug: str, most: int = 1_000) -> Call[list[shapes.StandingsLine]]:
    """Return the overall standings of a competition, best first."""
    return _list(f"/competitions/{segment(slug)}/standings", public=True, most=most)


def models(slug: str, hardware: str = "", most: int = 20) -> Call[list[shapes.ModelBoardLine]]:
    """Return the models with public kernels on a competition's problems, best first by fast_1."""
    return _list(f"/competitions/{segment(slug)}/models", public=True, hardware=hardware, most=most)


def sampling(
    slug: str, hardware: str = "", *, model: str = "", p: float = 0.0, by: str = "", mine: bool = False
) -> Call[shapes.SamplingLesson]:
    """Return how far more samples help a model over a competition's problems, against serial feedback."""
    asked = {"model": model, "p": f"{p:g}", "by": by, "mine": "true" if mine else ""}
    return _get(f"/competitions/{segment(slug)}/sampling", public=not mine, hardware=hardware, **asked)


def board_sampling(
    slug: str, hardware: str, *, model: str = "", p: float = 0.0, by: str = "", mine: bool = False
) -> Call[shapes.SamplingLesson]:
    """Return how far more samples help a model on a board, against serial feedback at equal cost."""
    asked = {"model": model, "p": f"{p:g}", "by": by, "mine": "true" if mine else ""}
    return _get(f"/boards/{segment(slug)}/{segment(hardware)}/sampling", public=not mine, **asked)


def awards(slug: str, most: int = PAGE) -> Call[list[shapes.Awards]]:
    """List tracks and prizes of a competition, and its winners once they are announced."""
    return _list(f"/competitions/{segment(slug)}/awards", public=True, most=most)


def announcements(slug: str, most: int = PAGE) -> Call[list[shapes.News]]:
    """List the announcements of a competition, newest first."""
    return _list(f"/competitions/{segment(slug)}/announcements", public=True, most=most)


def team(slug: str) -> Call[shapes.Team]:
    """Return the caller's entry in a competition with its members and invites."""
    return _get(f"/competitions/{segment(slug)}/team")


def team_act(slug: str, act: str, sent: Mapping[str, Any]) -> Call[shapes.Team]:
    """Change the caller's entry: create, leave, rename, invite, withdraw, remove, hand-over, division, …"""
    return _act(f"/competitions/{segment(slug)}/team/{segment(act)}", **sent)


def invites(most: int = PAGE) -> Call[list[shapes.Invite]]:
    """List the open invites to the caller."""
    return _list("/invites", most=most)


def accept_invite(pk: int | str) -> Call[shapes.Team]:
    """Accept an invite and join the team."""
    return _act(f"/invites/{submission_id(pk)}/accept")


def boards(
    *, competition: str = "", hardware: str = "", open: bool | None = None, text: str = "", most: int = 1_000
) -> Call[list[shapes.Board]]:
    """List the boards, by name. Each argument narrows the list."""
    is_open = "" if open is None else str(open).lower()
    return _list("/boards", public=True, most=most, competition=competition, hardware=hardware, open=is_open, text=text)


def board(slug: str) -> Call[shapes.BoardDetail]:
    """Return a board with its problem."""
    return _get(f"/boards/{segment(slug)}", public=True)


def problem(slug: str, hardware: str = "") -> Call[shapes.ProblemFolder]:
    """Return the public files of a board's problem, as a folder that the judge reads at home."""
    return _get(f"/boards/{segment(slug)}/problem", public=True, hardware=hardware)


def entries(slug: str, hardware: str, most: int = 1_000) -> Call[list[shapes.Entry]]:
    """Return a ranking, best first, with the best kernel of each entrant."""
    return _list(f"/boards/{segment(slug)}/{segment(hardware)}/entries", public=True, most=most)


def history(slug: str, hardware: str, most: int = PAGE) -> Call[list[shapes.Record]]:
    """List the former leaders of a board, oldest first."""
    return _list(f"/boards/{segment(slug)}/{segment(hardware)}/history", public=True, most=most)


def entry(pk: int | str) -> Call[shapes.EntryDetail]:
    """Return a published entry, with its code if that is public."""
    return _get(f"/entries/{submission_id(pk)}", public=True)


def signed_entry(pk: int | str) -> Call[shapes.Signed]:
    """Return a published entry as a statement that the site has signed."""
    return _get(f"/entries/{submission_id(pk)}/signed", public=True)


def quota(board: str = "") -> Call[list[shapes.Left]]:
    """Return the caller's remaining quota: for a board, or for all boards with spent quota."""
    return _list("/quota", board=board)


def submissions(board: str = "", most: int = 20) -> Call[list[shapes.SubmissionSummary]]:
    """Return the caller's submissions, newest first. `board` "": to every board."""
    return _list("/submissions", board=board, most=most)


def submission(pk: int | str) -> Call[shapes.Submission]:
    """Return a submission with its verdict, cases, logs and code."""
    return _get(f"/submissions/{submission_id(pk)}")


def seeds(pk: int | str) -> Call[shapes.Seeds]:
    """Return the inputs of a judged submission's cases, once the contest is over."""
    return _get(f"/submissions/{submission_id(pk)}/seeds")


def profile_file(pk: int | str, name: str) -> Call[bytes]:
    """Return a file of a submission's profile."""
    return Call("GET", f"/submissions/{submission_id(pk)}/files/{segment(name)}", is_safe=True, is_file=True)


def data_set() -> Call[shapes.DataSet]:
    """Return the newest data set of the site with its files."""
    return _get("/datasets", public=True)


def data_set_file(name: str, path: str, size: int) -> Call[bytes]:
    """Return a file of the newest data set, whose size the data set names."""
    parts = "/".join(segment(part) for part in path.split("/"))
    address = f"/datasets/{segment(name)}/{parts}"
    return Call("GET", address, is_safe=True, is_file=True, needs_token=False, most_bytes=size)


def submit(
    *,
    board: str,
    hardware: str,
    mode: str,
    filename: str,
    code: str,
    licence: str = "",
    remix_of: int = 0,
    lineage: Mapping[str, Any] | None = None,
    key: str = "",
) -> Call[shapes.Accepted]:
    """Send a submission. With a key, a repetition counts once; the call chooses one by itself.

    `remix_of`: number of the submission whose code this began with; 0: none. `lineage`: how a program came to it, with
    any of `parents`, `idea`, `model`, `prompt_sha256`, `sampling`, `cost_usd`, `strategy` and `run`.
    """
    body: dict[str, Any] = {"board": board, "hardware": hardware, "mode": mode, "filename": filename, "code": code}
    if licence:
        body["licence"] = licence
    if remix_of:
        body["remixed_from"] = remix_of
    if lineage:
        body["lineage"] = dict(lineage)
    return Call("POST", "/submissions", body=body, headers={"Idempotency-Key": key or str(uuid4())}, is_safe=True)


def rewards(
    ids: Sequence[int | str], *, formula: str = "", **parameters: float | bool | None
) -> Call[shapes.RewardsAnswer]:
    """Return the rewards of up to 256 own submissions. `parameters`: correct, cap, only_correct; None: the default."""
    given = {name: value for name, value in {"formula": formula or None, **parameters}.items() if value is not None}
    body = {"ids": [int(submission_id(pk)) for pk in ids], **given}
    return Call("POST", "/rewards", body=body, is_safe=True)


def lineage(pk: int | str, model: str = "") -> Call[shapes.SubmissionTree]:
    """Return the tree of a submission: its run, or its ancestors and descendants."""
    return _get(f"/submissions/{submission_id(pk)}/lineage", model=model)


def runs(board: int = 0, *, model: str = "", by: str = "") -> Call[shapes.RunComparison]:
    """Compare the strategies of your own runs on a board at equal budget."""
    return _get("/runs", board=str(board or ""), model=model, by=by)


def cancel(pk: int | str) -> Call[shapes.Submission]:
    """Cancel a submission that waits or runs."""
    return _act(f"/submissions/{submission_id(pk)}/cancel")


def feedback(pk: int | str) -> Call[shapes.Feedback]:
    """Return feedback on a submission for a program: stage, places of errors, first failing case, times."""
    return _get(f"/submissions/{submission_id(pk)}/feedback")


def feedback_text(pk: int | str, limit: int = 2_000) -> Call[bytes]:
    """Return the same as text for a prompt, of at most `limit` characters, in UTF-8."""
    params = {"format": "text", "limit": str(limit)}
    path, accept = f"/submissions/{submission_id(pk)}/feedback", {"Accept": "text/plain"}
    return Call("GET", path, params, headers=accept, is_safe=True, is_file=True)


def parents(slug: str, hardware: str, *, limit: int = 8, similarity: float = 0.7) -> Call[list[shapes.ParentKernel]]:
    """List the fastest kernels of a board that differ from each other, with code: public ones and the caller's."""
    path = f"/boards/{segment(slug)}/{segment(hardware)}/parents"
    return _list(path, limit=str(limit), similarity=str(similarity))


def submit_batch(
    candidates: Sequence[Mapping[str, Any]],
    *,
    mode: str,
    budget_s: float,
    board: str = "",
    hardware: str = "",
    bar: float | None = None,
    fresh: bool = False,
    key: str = "",
) -> Call[shapes.Batch]:
    """Send up to 256 candidates under one budget of device seconds, all or none.

    A candidate has `code`, and may have `filename`, `licence`, `remixed_from`, `lineage`, and a `board` and `hardware`
    of its own.
    `bar`, in mode benchmark: a ratio of candidate to baseline; the timing of one that cannot beat it ends early.
    `fresh`, in mode test: no stored verdict answers a kernel that was judged before.
    With a key, a repetition counts once; the call chooses one by itself.
    """
    body: dict[str, Any] = {"board": board, "hardware": hardware, "mode": mode, "budget_s": budget_s}
    if bar is not None:
        body["bar"] = bar
    if fresh:
        body["fresh"] = True
    headers = {"Idempotency-Key": key or str(uuid4())}
    sent = {**body, "candidates": [dict(candidate) for candidate in candidates]}
    return Call("POST", "/batches", body=sent, headers=headers, is_safe=True)


def matches(which: str = "own", most: int = 20) -> Call[list[shapes.MatchSummary]]:
    """List the caller's matches, newest first; `which` "public": the gallery."""
    return _list("/matches", public=which == "public", most=most, which=which)


def match(pk: int | str) -> Call[shapes.MatchDetail]:
    """Return a match: prediction, versions of both sides with their gates, cases."""
    return _get(f"/matches/{match_id(pk)}", public=True)


def open_match(slug: str, hardware: str, *, model: str, machine: str = "prompts") -> Call[shapes.MatchDetail]:
    """Open a match of the caller against a model. `machine`: search, prompts or pasted."""
    return _act(f"/boards/{segment(slug)}/{segment(hardware)}/matches", model=model, machine=machine)


def predict(pk: int | str, *, bound: str, speedup: float, why: str) -> Call[shapes.MatchDetail]:
    """Commit the prediction of the human side, for good. `bound`: memory, compute or latency."""
    return _act(f"/matches/{match_id(pk)}/predict", bound=bound, speedup=speedup, why=why)


def send_version(
    pk: int | str,
    code: str,
    *,
    filename: str = "",
    licence: str = "",
    reason: str = "",
    expected: float | None = None,
    key: str = "",
) -> Call[shapes.MatchVersion]:
    """Send the next version of the human side. From the second on it has a reason and an expected speed-up."""
    body = {"code": code, "filename": filename, "licence": licence, "reason": reason, "expected": expected}
    return _once(f"/matches/{match_id(pk)}/versions", body, key)


def send_answer(
    pk: int | str,
    *,
    prompt: str,
    answer: str,
    code: str = "",
    filename: str = "",
    turn: int | None = None,
    lineage: Mapping[str, Any] | None = None,
    key: str = "",
) -> Call[shapes.MatchVersion]:
    """Send a kernel of the machine. Without `code`, the longest code block of the answer is judged."""
    body: dict[str, Any] = {"prompt": prompt, "answer": answer, "code": code, "filename": filename, "turn": turn}
    return _once(f"/matches/{match_id(pk)}/answers", {**body, **({"lineage": lineage} if lineage else {})}, key)


def attach(pk: int | str, submissions: Sequence[Mapping[str, Any]]) -> Call[list[shapes.MatchVersion]]:
    """Make submissions versions of the machine. Each has `submission`, and may have `prompt`, `answer` and `turn`."""
    body = {"submissions": [dict(one) for one in submissions]}
    return Call("POST", f"/matches/{match_id(pk)}/attach", body=body, many=True, is_safe=True)


def act_on_match(pk: int | str, act: str) -> Call[shapes.MatchDetail]:
    """Publish, withdraw or close a match, publish-texts or hide-texts: `act` is one of these words."""
    return _act(f"/matches/{match_id(pk)}/{segment(act)}")


def worklog(pk: int | str, hand_in: int | None = None) -> Call[shapes.Worklog]:
    """Return the worklog of a match with its facts, of now or of a hand-in."""
    return _get(f"/matches/{match_id(pk)}/worklog", hand_in=str(hand_in or ""))


def worklog_text(pk: int | str, hand_in: int | None = None) -> Call[bytes]:
    """Return the same as Markdown, in UTF-8."""
    params = {"format": "text", **({"hand_in": str(hand_in)} if hand_in else {})}
    path, accept = f"/matches/{match_id(pk)}/worklog", {"Accept": "text/plain"}
    return Call("GET", path, params, headers=accept, is_safe=True, is_file=True)


def worklog_section(pk: int | str, section: str) -> Call[shapes.WorklogSection]:
    """Return a section of a worklog: its stored text, its revision, and the facts of the site."""
    return _get(f"/matches/{match_id(pk)}/worklog/{segment(section)}")


def save_section(pk: int | str, section: str, text: str, *, revision: int) -> Call[shapes.WorklogSection]:
    """Save the text of a section. `revision`: of the stored text that the caller has read; 0: none was stored."""
    body = {"text": text, "revision": revision}
    return Call("POST", f"/matches/{match_id(pk)}/worklog/{segment(section)}", body=body, is_safe=True)


def hand_ins(pk: int | str, most: int = 20) -> Call[list[shapes.HandInLine]]:
    """List the hand-ins of a worklog, newest first."""
    return _list(f"/matches/{match_id(pk)}/worklog/hand-ins", most=most)


def hand_in(pk: int | str) -> Call[shapes.NewHandIn]:
    """Hand the worklog in as it is now, once until it or its team changes."""
    return Call("POST", f"/matches/{match_id(pk)}/worklog/hand-ins", body={}, is_safe=True)


def public_texts(pk: int | str) -> Call[shapes.PublishedTexts]:
    """Return the texts of a worklog that the human side of a public match published."""
    return _get(f"/matches/{match_id(pk)}/texts", public=True)


def classes(most: int = PAGE) -> Call[list[shapes.ClassSummary]]:
    """List the classes that the caller teaches, grades or attends, newest first."""
    return _list("/classes", most=most)


def class_detail(slug: str) -> Call[shapes.ClassDetail]:
    """Return a class with its assignments."""
    return _get(f"/classes/{segment(slug)}")


def make_class(competition: str, stuck_days: int = 3) -> Call[shapes.ClassDetail]:
    """Make a competition of the caller a class."""
    return _act("/classes/make", competition=competition, stuck_days=stuck_days)


def edit_class(slug: str, *, stuck_days: int) -> Call[shapes.ClassDetail]:
    """Change the settings of a class. Teachers only."""
    return _act(f"/classes/{segment(slug)}/settings", stuck_days=stuck_days)


def join_class(code: str) -> Call[shapes.ClassDetail]:
    """Join the class of an invite code."""
    return _act("/classes/join", code=code)


def join_class_by_roster(slug: str) -> Call[shapes.ClassDetail]:
    """Join a class whose roster has the caller."""
    return Call("POST", f"/classes/{segment(slug)}/join", body={}, is_safe=True)


def own_work(slug: str) -> Call[list[shapes.GridRow]]:
    """List the assignments of the caller in a class, with due time and stage."""
    return _list(f"/classes/{segment(slug)}/mine")


def class_roster(slug: str, most: int = 2_000) -> Call[list[shapes.RosterRow]]:
    """List the students of a class and the people who are expected. Its staff only."""
    return _list(f"/classes/{segment(slug)}/roster", most=most)


def import_roster(slug: str, text: str) -> Call[shapes.RosterImported]:
    """Add students from CSV: all lines, or none. Teachers only."""
    return Call("POST", f"/classes/{segment(slug)}/roster", body={"text": text}, is_safe=True)


def remove_roster_line(slug: str, login: str) -> Call[dict[str, Any]]:
    """Take a person off the roster who has not joined. Teachers only."""
    return _act(f"/classes/{segment(slug)}/roster/remove", login=login)


def change_seat(slug: str, seat: int | str, **settings: str) -> Call[shapes.RosterRow]:
    """Change `name` or `section` of a student. Teachers only."""
    return _act(f"/classes/{segment(slug)}/seats/{segment(seat)}", **settings)


def end_seat(slug: str, seat: int | str) -> Call[dict[str, Any]]:
    """End a student's seat. Teachers only."""
    return _act(f"/classes/{segment(slug)}/seats/{segment(seat)}/end")


def class_sections(slug: str, most: int = PAGE) -> Call[list[shapes.SectionLine]]:
    """List the sections of a class. Its staff only."""
    return _list(f"/classes/{segment(slug)}/sections", most=most)


def remove_section(slug: str, name: str) -> Call[dict[str, Any]]:
    """Remove a section; its students stay. Teachers only."""
    return _act(f"/classes/{segment(slug)}/sections/remove", name=name)


def assignments(slug: str, most: int = PAGE) -> Call[list[shapes.AssignmentLine]]:
    """List the assignments of a class. Its staff only; `class_detail` has them for students, too."""
    return _list(f"/classes/{segment(slug)}/assignments", most=most)


def add_assignment(
    slug: str, *, title: str, tier: int, boards: Sequence[Mapping[str, str]], due_at: str, **settings: Any
) -> Call[shapes.AssignmentLine]:
    """Add an assignment. Each board has `board` and `hardware`. Teachers only."""
    named = {"title": title, "tier": tier, "boards": [dict(one) for one in boards], "due_at": due_at}
    return _act(f"/classes/{segment(slug)}/assignments", **named, **settings)


def edit_assignment(slug: str, assignment: int | str, **settings: Any) -> Call[shapes.AssignmentLine]:
    """Change settings of an assignment. Teachers only."""
    return _act(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}", **settings)


def extensions(slug: str, assignment: int | str, most: int = PAGE) -> Call[list[shapes.ExtensionLine]]:
    """List the extensions of an assignment. The class's staff only."""
    return _list(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/extensions", most=most)


def extend(slug: str, assignment: int | str, *, student: str, until: str, reason: str) -> Call[shapes.ExtensionLine]:
    """Give a student a later due time, or change it. Teachers only."""
    path = f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/extensions"
    return _act(path, student=student, until=until, reason=reason)


def withdraw_extension(slug: str, extension: int | str) -> Call[dict[str, Any]]:
    """Withdraw an extension. Teachers only."""
    return _act(f"/classes/{segment(slug)}/extensions/{segment(extension)}/withdraw")


def start_work(
    slug: str, assignment: int | str, *, board: str, hardware: str, model: str, machine: str = "prompts"
) -> Call[shapes.MatchDetail]:
    """Open the caller's match for an assignment. Students only."""
    named = {"board": board, "hardware": hardware, "model": model, "machine": machine}
    return _act(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/work", **named)


def class_grid(slug: str, section: str = "", most: int = 100_000) -> Call[list[shapes.GridRow]]:
    """List the work of every student for every assignment. The class's staff only."""
    return _list(f"/classes/{segment(slug)}/grid", most=most, section=section)


def class_check(slug: str, most: int = PAGE) -> Call[list[shapes.BoardCheckLine]]:
    """List the boards of the assignments with the verdicts on planted submissions. The class's staff only."""
    return _list(f"/classes/{segment(slug)}/check", most=most)


def plant(slug: str, submission: int | str, *, must_fail: bool) -> Call[shapes.PlantedLine]:
    """Register a submission of the staff whose verdict is known beforehand. Teachers only."""
    return _act(f"/classes/{segment(slug)}/check", submission=int(submission_id(submission)), must_fail=must_fail)


def unplant(slug: str, planted: int | str) -> Call[dict[str, Any]]:
    """Remove a planted submission from the check. Teachers only."""
    return _act(f"/classes/{segment(slug)}/planted/{segment(planted)}/remove")


def class_grades(slug: str, assignment: int | str = "", most: int = 100_000) -> Call[list[shapes.GradeRow]]:
    """List the grades of a class, or of an assignment with levels. The class's staff only."""
    return _list(f"/classes/{segment(slug)}/grades", most=most, assignment=str(assignment))


def begin_grading(slug: str, assignment: int | str) -> Call[shapes.AssignmentLine]:
    """Freeze the rubric of an assignment, and take no hand-in any more. Teachers only."""
    return _act(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/begin-grading")


def release_grades(slug: str, assignment: int | str) -> Call[shapes.AssignmentLine]:
    """Show all grades of an assignment to its students. Teachers only."""
    return _act(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/release")


def class_work(slug: str, work: int | str) -> Call[shapes.WorkDetail]:
    """Return a handed-in work with checks, grades and remarks. The class's staff only."""
    return _get(f"/classes/{segment(slug)}/works/{segment(work)}")


def grade_work(
    slug: str, work: int | str, scores: Mapping[str, int], text: str = "", *, final: bool = True
) -> Call[shapes.WorkDetail]:
    """Submit the caller's grade of a work, or save a draft. Graders only."""
    path = f"/classes/{segment(slug)}/works/{segment(work)}/grade"
    return _act(path, scores=dict(scores), text=text, final=final)


def moderate_work(slug: str, work: int | str, scores: Mapping[str, int], text: str) -> Call[shapes.WorkDetail]:
    """Replace the grades of two graders. Teachers only."""
    return _act(f"/classes/{segment(slug)}/works/{segment(work)}/moderate", scores=dict(scores), text=text)


def remark_work(
    slug: str, work: int | str, *, section: str, text: str, line: int | None = None, number: str = ""
) -> Call[shapes.RemarkLine]:
    """Comment a section of a worklog, a line of it, or a number in it. Graders only."""
    path = f"/classes/{segment(slug)}/works/{segment(work)}/remarks"
    return _act(path, section=section, text=text, line=line, number=number)


def remove_remark(slug: str, remark: int | str) -> Call[dict[str, Any]]:
    """Remove an own remark before the release. Graders only."""
    return _act(f"/classes/{segment(slug)}/remarks/{segment(remark)}/remove")


def rubrics(slug: str, most: int = PAGE) -> Call[list[shapes.RubricLine]]:
    """List the rubrics of a class. Its staff only."""
    return _list(f"/classes/{segment(slug)}/rubrics", most=most)


def save_rubric(slug: str, name: str, criteria: Sequence[Mapping[str, Any]]) -> Call[shapes.RubricLine]:
    """Add a rubric, or change its newest version. A criterion has `key`, `name`, `weight`, `levels`. Teachers only."""
    return _act(f"/classes/{segment(slug)}/rubrics", name=name, criteria=[dict(one) for one in criteria])


def own_grade(slug: str, assignment: int | str) -> Call[shapes.OwnGrade]:
    """Return the caller's released grade of an assignment."""
    return _get(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/grade")


def appeal_grade(slug: str, assignment: int | str, text: str) -> Call[shapes.AppealLine]:
    """Object to the caller's released grade of an assignment."""
    return _act(f"/classes/{segment(slug)}/assignments/{assignment_id(assignment)}/appeal", text=text)


def answer_grade_appeal(
    slug: str, appeal: int | str, text: str, scores: Mapping[str, int] | None = None
) -> Call[shapes.AppealLine]:
    """Answer an appeal against a grade; `scores` replace the grade. Teachers only."""
    changed = None if scores is None else dict(scores)
    return _act(f"/classes/{segment(slug)}/appeals/{segment(appeal)}/answer", text=text, scores=changed)


def batches(most: int = 20) -> Call[list[shapes.BatchSummary]]:
    """Return the batches of the caller's account, newest first."""
    return _list("/batches", most=most)


def batch(pk: int | str, wait_s: int = 0) -> Call[shapes.Batch]:
    """Return a batch with its candidates; with `wait_s`, at its end or after that time."""
    return _get(f"/batches/{submission_id(pk)}", wait=str(wait_s) if wait_s else "")


def batch_feedback(pk: int | str, after: int = 0, wait_s: int = 0) -> Call[list[shapes.Feedback]]:
    """Return feedback on the candidates that ended after this arrival; with `wait_s`, wait for the first."""
    wait = str(wait_s) if wait_s else ""
    return _list(f"/batches/{submission_id(pk)}/feedback", after=str(after), wait=wait)


def batch_report(pk: int | str, p: float = 1.0) -> Call[shapes.BatchReport]:
    """Return pass@k, fast_p@k for this p, best-of-k, stages and costs of a batch."""
    return _get(f"/batches/{submission_id(pk)}/report", p=repr(float(p)))


def cancel_batch(pk: int | str) -> Call[shapes.Batch]:
    """Cancel the unfinished candidates of a batch."""
    return _act(f"/batches/{submission_id(pk)}/cancel")


def retract(pk: int | str, reason: str = "") -> Call[shapes.Retracted]:
    """Withdraw the kernel of a submission from every board, for good."""
    return _act(f"/submissions/{submission_id(pk)}/retract", reason=reason)


def person(username: str) -> Call[shapes.PersonProfile]:
    """Return the public profile of a person."""
    return _get(f"/people/{segment(username)}", public=True)


def person_entries(username: str, most: int = PAGE) -> Call[list[shapes.PersonEntry]]:
    """List the public entries of a person, newest first."""
    return _list(f"/people/{segment(username)}/entries", public=True, most=most)


def entrant(competition: str, name: str) -> Call[shapes.PersonProfile]:
    """Return the profile of a team, a pseudonym or a person within a competition."""
    return _get(f"/competitions/{segment(competition)}/entrants/{segment(name)}", public=True)


def compare(first: int | str, second: int | str) -> Call[shapes.Comparison]:
    """Compare two published entries: figures, timed cases, and code that the caller may see."""
    return _get("/compare", public=True, a=submission_id(first), b=submission_id(second))


def search(text: str) -> Call[shapes.SearchResults]:
    """Search people, problems and competitions by words of their names."""
    return _get("/search", public=True, q=text)


def problems(
    *,
    text: str = "",
    tag: str = "",
    level: int | None = None,
    hardware: str = "",
    status: str = "",
    open: bool = False,
    most: int = 1_000,
) -> Call[list[shapes.ProblemLine]]:
    """List the problems by title, with the caller's status: ranked, tried or new. Each argument narrows the list."""
    given = {"text": text, "tag": tag, "level": "" if level is None else str(level), "hardware": hardware}
    given |= {"status": status, "open": "true" if open else ""}
    return _list("/problems", public=True, most=most, **given)


def agents() -> Call[list[shapes.Agent]]:
    """List the caller's agents, accounts of programs, with their valid tokens."""
    return _list("/agents")


def create_agent(name: str) -> Call[shapes.Agent]:
    """Create an agent of the caller's account."""
    return _act("/agents", name=name)


def create_agent_token(
    agent: str,
    name: str,
    *,
    scopes: Sequence[str] = (),
    days: int | None = None,
    device_s_per_day: int | None = None,
    per_hour: int | None = None,
) -> Call[shapes.MadeAgentToken]:
    """Make a token of an agent, within the scopes, limits and end of the calling token. Its text comes only now."""
    given = {"scopes": list(scopes) or None, "days": days, "device_s_per_day": device_s_per_day, "per_hour": per_hour}
    given = {field: value for field, value in given.items() if value is not None}
    return _act(f"/agents/{segment(agent)}/tokens", name=name, **given)


def revoke_agent_token(agent: str, pk: int | str) -> Call[shapes.AgentTokenRevoked]:
    """Revoke a token of an agent."""
    return _act(f"/agents/{segment(agent)}/tokens/{submission_id(pk)}/revoke")


def notifications(*, unread: bool = False, kind: str = "", most: int = PAGE) -> Call[list[shapes.Notification]]:
    """List the caller's messages, newest first. They stay unread."""
    return _list("/notifications", unread="true" if unread else "", kind=kind, most=most)


def read_notifications(ids: Sequence[int] = ()) -> Call[shapes.ReadCount]:
    """Mark messages as read; without ids, all of them."""
    return _act("/notifications/read", ids=list(ids))


def notification_settings() -> Call[shapes.NotificationSettings]:
    """Return the kinds of messages by channel, and the state of the webhook."""
    return _get("/notifications/settings")


def choose_notifications(
    *, page: Sequence[str] | None = None, mail: Sequence[str] | None = None, webhook: Sequence[str] | None = None
) -> Call[shapes.NotificationSettings]:
    """Choose the kinds of messages by channel. None leaves a channel as it is."""
    given = {"page": page, "mail": mail, "webhook": webhook}
    return _act("/notifications/settings", **{name: list(kinds) for name, kinds in given.items() if kinds is not None})


def set_webhook(address: str, form: str = "json") -> Call[shapes.WebhookSaved]:
    """Set the address of the caller's webhook. The answer has the secret of the format json, only now."""
    return _act("/notifications/webhook", address=address, format=form)


def rotate_webhook() -> Call[shapes.WebhookSecret]:
    """Replace the secret of the caller's webhook. For 24 hours both secrets sign."""
    return _act("/notifications/webhook/rotate")


def test_webhook() -> Call[shapes.WebhookTested]:
    """Post a test message to the caller's webhook."""
    return _act("/notifications/webhook/test")


def remove_webhook() -> Call[shapes.NotificationSettings]:
    """Remove the caller's webhook."""
    return _act("/notifications/webhook/remove")


def posts(slug: str, hardware: str, kind: str = "comment", most: int = PAGE) -> Call[list[shapes.DiscussionPost]]:
    """List comments or write-ups of a board, newest first."""
    return _list(f"/boards/{segment(slug)}/{segment(hardware)}/posts", public=True, kind=kind, most=most)


def write_post(slug: str, hardware: str, text: str, kind: str = "comment") -> Call[shapes.DiscussionPost]:
    """Write a comment, or the write-up of the caller's entrant."""
    return _act(f"/boards/{segment(slug)}/{segment(hardware)}/posts", kind=kind, text=text)


def remove_post(slug: str, hardware: str, pk: int | str, reason: str = "") -> Call[shapes.PostRemoved]:
    """Remove a post; moderators give a reason."""
    return _act(f"/boards/{segment(slug)}/{segment(hardware)}/posts/{submission_id(pk)}/remove", reason=reason)


def report_post(slug: str, hardware: str, pk: int | str, reason: str) -> Call[shapes.PostReported]:
    """Report a post to the organisers of the competition."""
    return _act(f"/boards/{segment(slug)}/{segment(hardware)}/posts/{submission_id(pk)}/report", reason=reason)


def stop_intake() -> Call[shapes.Intake]:
    """Stop new submissions for everybody but staff. Administrators only."""
    return _act("/admin/stop")


def start_intake() -> Call[shapes.Intake]:
    """End the maintenance, so that submissions count again. Administrators only."""
    return _act("/admin/start")


def compiled_timings(most: int = PAGE) -> Call[list[shapes.CompiledSummary]]:
    """List timings of torch.compile, newest first. Organisers only."""
    return _list("/admission/compiled", most=most)


def admission_tests(mark: str = "", most: int = PAGE) -> Call[list[shapes.AdmissionSummary]]:
    """List admission tests of problems, newest first. Organisers only."""
    return _list("/admission", mark=mark, most=most)


def stats(last_day: bool = False) -> Call[shapes.Stats]:
    """Return counts of submissions and runs. Administrators only."""
    return _get("/admin/stats", last_day="true" if last_day else "")


def call(path: str, sent: Mapping[str, Any] | None = None, *, post: bool | None = None) -> Call[Any]:
    """Make any call of the HTTP interface: a POST if `sent` has fields, else a GET; `post` decides otherwise."""
    address = "/" + "/".join(segment(part) for part in path.removeprefix("/api/v1").strip("/").split("/"))
    if bool(sent) if post is None else post:
        return Call("POST", address, body=sent or {}, many=None)
    return Call("GET", address, {name: str(value) for name, value in (sent or {}).items()}, many=None, is_safe=True)


def organised(most: int = PAGE) -> Call[list[shapes.OrganisedSummary]]:
    """List the competitions in which the caller has a role."""
    return _list("/organise", most=most)


def competition_settings(slug: str) -> Call[shapes.Organised]:
    """Return the settings of a competition, for its organisers."""
    return _get(f"/organise/{segment(slug)}")


def competition_state(slug: str) -> Call[shapes.CompetitionState]:
    """Return waiting work, queues, runners and timing epochs of a competition, for its organisers."""
    return _get(f"/organise/{segment(slug)}/state")


def create_competition(slug: str, name: str, **settings: Any) -> Call[shapes.Organised]:
    """Create a competition, closed at first. Administrators only."""
    return _act("/organise", slug=slug, name=name, **settings)


def edit_competition(slug: str, reason: str = "", **settings: Any) -> Call[shapes.Organised]:
    """Change some settings of a competition. Owners only."""
    return _act(f"/organise/{segment(slug)}", reason=reason, **settings)


def clone_competition(source: str, slug: str, name: str, shift_days: int | None = None) -> Call[shapes.Organised]:
    """Clone a competition, its times moved by some days, or without times. Owners only."""
    return _act(f"/organise/{segment(source)}/clone", slug=slug, name=name, shift_days=shift_days)


def delete_competition(slug: str, reason: str) -> Call[dict[str, Any]]:
    """Delete a competition that nobody has entered. Owners only."""
    return _act(f"/organise/{segment(slug)}/delete", slug=slug, reason=reason)


def announce(slug: str, title: str, text: str = "") -> Call[shapes.NewsLine]:
    """Publish an announcement. Owners only."""
    return _act(f"/organise/{segment(slug)}/announcements", title=title, text=text)


def standing_act(slug: str, act: str, reason: str, **options: bool) -> Call[shapes.StandingState]:
    """Change the standing as a whole: freeze, unfreeze, reveal, finalise, reopen. Owners only."""
    return _act(f"/organise/{segment(slug)}/standing/{segment(act)}", reason=reason, **options)


def organised_boards(slug: str, most: int = 1_000) -> Call[list[shapes.OrganisedBoard]]:
    """List the boards of a competition with their problem versions, for its organisers."""
    return _list(f"/organise/{segment(slug)}/boards", most=most)


def add_board(competition: str, digest: str, hardware: str, **settings: Any) -> Call[shapes.OrganisedBoard]:
    """Add a board for a version of a problem. Owners only."""
    return _act(f"/organise/{segment(competition)}/boards", digest=digest, hardware=hardware, **settings)


def edit_board(
    competition: str, board: str, hardware: str, reason: str = "", **settings: Any
) -> Call[shapes.OrganisedBoard]:
    """Change version, deadline or tags of a board. Owners only."""
    named = {"board": board, "hardware": hardware, "reason": reason}
    return _act(f"/organise/{segment(competition)}/boards/edit", **named, **settings)


def close_board(competition: str, board: str, hardware: str, reason: str) -> Call[shapes.OrganisedBoard]:
    """Close a board for contest submissions from now on. Owners only."""
    return _act(f"/organise/{segment(competition)}/boards/close", board=board, hardware=hardware, reason=reason)


def upload_set(
    filename: str,
    archive: bytes,
    hardware: Sequence[str] = (),
    without_deadlines: bool = False,
    precision: str = "fp32",
) -> Call[shapes.SetUploadDetail]:
    """Upload problem sets as a zip file, and return the preview of their import. Administrators only."""
    sent = {
        "hardware": list(hardware),
        "without_deadlines": str(without_deadlines).lower(),
        "precision": precision,
    }
    return Call("POST", "/sets", body=sent, files={"archive": (filename, archive)})


def fetch_set(
    address: str,
    ref: str = "",
    folder: str = "",
    hardware: Sequence[str] = (),
    without_deadlines: bool = False,
    precision: str = "fp32",
) -> Call[shapes.SetUploadDetail]:
    """Ask for problem sets from a git repository; once `waiting` is false, `set_upload` has their preview."""
    place = {"address": address, "ref": ref, "folder": folder, "precision": precision}
    return _act("/sets/git", **place, hardware=list(hardware), without_deadlines=without_deadlines)


def set_uploads(most: int = PAGE) -> Call[list[shapes.SetUploadLine]]:
    """List the uploads of problem sets, newest first. Administrators only."""
    return _list("/sets", most=most)


def set_upload(pk: int | str) -> Call[shapes.SetUploadDetail]:
    """Return an upload with the preview of its import, or with its result. Administrators only."""
    return _get(f"/sets/{submission_id(pk)}")


def apply_set(pk: int | str) -> Call[shapes.SetUploadDetail]:
    """Import an upload as previewed. Administrators only."""
    return _act(f"/sets/{submission_id(pk)}/apply")


def discard_set(pk: int | str) -> Call[dict[str, Any]]:
    """Delete an upload that was not applied. Administrators only."""
    return _act(f"/sets/{submission_id(pk)}/discard")


def invite_codes(competition: str, most: int = PAGE) -> Call[list[shapes.InviteCodeLine]]:
    """List the valid invite codes of a competition. Owners only."""
    return _list(f"/organise/{segment(competition)}/codes", most=most)


def make_invite_codes(
    competition: str, count: int, boards: Sequence[str] = (), note: str = ""
) -> Call[shapes.NewCodes]:
    """Create invite codes for some boards, or for the whole competition. Owners only."""
    return _act(f"/organise/{segment(competition)}/codes", count=count, boards=list(boards), note=note)


def revoke_invite_code(competition: str, code: str) -> Call[shapes.Revoked]:
    """Revoke an invite code by its text, or by its beginning. Owners only."""
    return _act(f"/organise/{segment(competition)}/codes/revoke", code=code)


def remove_board(competition: str, slug: str, force: bool = False) -> Call[shapes.RemovedBoards]:
    """Remove the boards of a name. With `force`, boards with submissions are closed instead. Owners only."""
    return _act(f"/organise/{segment(competition)}/boards/remove", board=slug, force=force)
