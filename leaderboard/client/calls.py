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
    headers: Mapping[str, str] = field(default_factory=dict)
    many: bool = False  # the answer is a list
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


def segment(value: object) -> str:
    """Return any name as a single, quoted path segment."""
    text = str(value)
    if text in ("", ".", ".."):
        raise Misuse(f"name: {text!r} is none; see `photofinish boards`")
    return quote(text, safe="")


def submission_id(value: object) -> str:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS):
        raise Misuse(f"ID: {text!r} is not the number of a submission, such as 26; see `photofinish list`")
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


def competitions() -> Call[list[shapes.CompetitionSummary]]:
    """List the competitions: running, coming, past."""
    return _list("/competitions", public=True)


def competition(slug: str) -> Call[shapes.CompetitionDetail]:
    """Return a competition with its rules, problems, announcements and the caller's entry."""
    return _get(f"/competitions/{segment(slug)}", public=True)


def enter(
    slug: str, *, code: str = "", rules_digest: str = "", division: str = "", model_name: str = ""
) -> Call[shapes.CompetitionDetail]:
    """Enter a competition, or accept its changed rules."""
    more = {name: value for name, value in (("division", division), ("model_name", model_name)) if value}
    return _act(f"/competitions/{segment(slug)}/enter", code=code, rules_digest=rules_digest, **more)


def standings(slug: str) -> Call[list[shapes.StandingsLine]]:
    """Return the overall standings of a competition, best first."""
    return _list(f"/competitions/{segment(slug)}/standings", public=True)


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


def submit(
    *, board: str, hardware: str, mode: str, filename: str, code: str, licence: str = "", key: str = ""
) -> Call[shapes.Accepted]:
    """Send a submission. With a key, a repetition counts once; the call chooses one by itself."""
    body = {"board": board, "hardware": hardware, "mode": mode, "filename": filename, "code": code}
    if licence:
        body["licence"] = licence
    return Call("POST", "/submissions", body=body, headers={"Idempotency-Key": key or str(uuid4())}, is_safe=True)


def cancel(pk: int | str) -> Call[shapes.Submission]:
    """Cancel a submission that waits or runs."""
    return _act(f"/submissions/{submission_id(pk)}/cancel")


def retract(pk: int | str, reason: str = "") -> Call[shapes.Retracted]:
    """Withdraw the kernel of a submission from every board, for good."""
    return _act(f"/submissions/{submission_id(pk)}/retract", reason=reason)


def stop_intake() -> Call[shapes.Intake]:
    """Stop new submissions for everybody but staff. Administrators only."""
    return _act("/admin/stop")


def start_intake() -> Call[shapes.Intake]:
    """End the maintenance, so that submissions count again. Administrators only."""
    return _act("/admin/start")


def stats(last_day: bool = False) -> Call[shapes.Stats]:
    """Return counts of submissions and runs. Administrators only."""
    return _get("/admin/stats", last_day="true" if last_day else "")


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
