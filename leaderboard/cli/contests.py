"""`photofinish competitions`, `enter`, `quota` and `models`."""

import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from ..client import Client, Misuse, Refused
from ..client.values import JSON, mapping, mappings, sequence
from .api import explained
from .config import connected
from .render import AsJson, Columns, Screen, clean, estimate, line, moment, names_of, when

SHOWN_NEWS: Final = 5
QUOTA: Final[Columns] = {
    "board": "board",
    "hardware": "hardware",
    "mode": "mode",
    "left": "left",
    "of": "capacity",
    "a day": "per_day",
    "the next": when("next_at"),
}
MODELS: Final[Columns] = {
    "model": "model",
    "solved": lambda item: f"{len(sequence(item.get('best')))} of {item.get('problems', 0)}",
    "pass@1": lambda item: estimate(item.get("pass_at_1")),
    "fast_1": lambda item: estimate((*sequence(item.get("eager")), {}, {})[1]),
    "fast_2": lambda item: estimate((*sequence(item.get("eager")), {}, {}, {})[2]),
    "attempts": "attempts",
    "kernels": "kernels",
}


def competitions(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Show this competition in full.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the competitions: running, coming, past. With NAME, show its phases, boards, prizes, news and your quota."""
    screen = Screen()
    with connected(context) as api:
        if not name:
            columns: Columns = {
                "competition": "slug",
                "name": "name",
                "phase": "phase",
                "until": when("until"),
                "entrants": "entrants",
            }
            screen.table(api.competitions(), columns, ("entrants",), ("entrants", "name", "until"), as_json)
            return
        competition = _visible(api, name)
    if as_json:
        screen.json(competition)
    else:
        show(screen, competition, api.address(f"/competitions/{name}"))


def models(
    context: typer.Context,
    competition: Annotated[str, typer.Argument(help="Name of the competition.")],
    hardware: Annotated[str, typer.Option(help="Default: the competition's first.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=50)] = 20,
    as_json: AsJson = False,
) -> None:
    """List the models with public kernels on a competition's problems, best first, with 95 % intervals."""
    with connected(context) as site:
        found = site.models(competition, hardware, limit)
    Screen().table(found, MODELS, ("attempts", "kernels"), ("kernels", "attempts"), as_json)


def enter(
    context: typer.Context,
    competition: str,
    code: Annotated[str, typer.Option(help="Invite code of a closed competition or board.")] = "",
    accept_rules: Annotated[
        bool, typer.Option("--accept-rules", help="You have read the competition's rules and accept them.")
    ] = False,
    division: Annotated[str, typer.Option(metavar="human|agent|mixed", help="Default: human, if there is one.")] = "",
    model: Annotated[str, typer.Option(help="Model that writes the code, in the divisions agent and mixed.")] = "",
    as_json: AsJson = False,
) -> None:
    """Enter a competition after accepting its rules. Enter again if the rules have changed."""
    screen = Screen()
    answers = {"division": division, "model_name": model}
    with connected(context) as api:
        api.need_token()
        found = _with_code(api, competition, code, answers) if code else _visible(api, competition)
        you = mapping(found.get("you"))
        is_in = bool(you.get("entrant")) and bool(you.get("accepted"))
        if not is_in and not accept_rules:
            _ask_acceptance(screen, api, found)
        if not is_in or division:
            found = api.enter(competition, rules_digest=str(found.get("rules_digest") or ""), **answers)
    entrant = mapping(found.get("you")).get("entrant") or ""
    sentence = f"{line(found.get('name', competition), 150)}: you are in it as {line(entrant, 150)}"
    screen.answer(found, sentence, as_json)


def quota(
    context: typer.Context,
    board: Annotated[str, typer.Option(help="Show the quota of this board, spent or not.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show how many submissions you have left, and when more come: on all boards with spent quota, or on one board."""
    screen = Screen()
    with connected(context) as api, explained(api, board):
        left = api.quota(board)
    if left or as_json:
        _show_quota(screen, left, as_json)
    else:
        screen.say("Nothing is spent: you have all of your quota everywhere. --board NAME says how much that is.")


def show(screen: Screen, competition: JSON, address: str) -> None:
    until = f", until {moment(competition['until'])}" if competition.get("until") else ""
    screen.say(f"{line(competition.get('name', ''), 150)}: {line(competition.get('phase', ''), 32)}{until}")
    size, count = competition.get("max_team_size"), competition.get("entrants", "")
    entrants = "1 entrant" if count == 1 else f"{line(count, 16)} entrants"
    teams = f"teams of up to {line(size, 8)}" if isinstance(size, int) and size > 1 else "no teams"
    divisions = ", ".join(line(name, 32) for name in sequence(competition.get("divisions")))
    screen.say(f"{entrants}, {teams}" + (f", divisions {divisions}" if divisions else ""))
    screen.say(_your_place(competition))
    screen.say(line(address))
    phases = mappings(competition.get("phases"))
    if len(phases) > 1:
        screen.say("")
        screen.table(
            phases,
            {"": lambda phase: "→" if phase.get("state") == "now" else "", "phase": "title", "from": when("since")},
        )
    screen.say("")
    boards: Columns = {"board": "board", "title": "title", "hardware": names_of("hardware")}
    screen.table(mappings(competition.get("problems")), boards, least=("title",))
    if tracks := mappings(competition.get("tracks")):
        screen.say("")
        screen.table(tracks, {"track": "name", "won by": "won_by", "prizes": _prizes}, least=("won by",))
    left = mappings(mapping(competition.get("you")).get("quota"))
    if spent := [quota for quota in left if quota.get("next_at")]:  # most boards have their full quota
        screen.say("\nof your quota you may still send")
        _show_quota(screen, spent)
    elif left:
        screen.say("\nnothing of your quota is spent here; `photofinish quota --board NAME` says how much it is")
    for news in mappings(competition.get("announcements"))[:SHOWN_NEWS]:
        screen.say(f"\n{moment(news.get('created_at'))}: {line(news.get('title', ''), 200)}")
        if news.get("text"):
            screen.say(clean(news["text"], 2_000))


def _show_quota(screen: Screen, left: Sequence[JSON], as_json: bool = False) -> None:
    screen.table(left, QUOTA, ("left", "of", "a day"), ("a day", "of", "hardware"), as_json)


def _your_place(competition: JSON) -> str:
    you = mapping(competition.get("you"))
    enter = f"photofinish enter {line(competition.get('slug', ''), 64)}"
    if not you:
        return "sign in with `photofinish login` to see where you stand"
    if not you.get("entrant"):
        return f"you are not in it: `{enter}`" if you.get("may_enter") else "you are not in it"
    place = f"you are in it as {line(you['entrant'], 150)}, division {line(you.get('division', ''), 32)}"
    return place if you.get("accepted") else f"{place}; accept its rules: `{enter}`"


def _prizes(track: JSON) -> str:
    sentences = []
    for prize in mappings(track.get("prizes")):
        money = f"{line(prize.get('currency', ''), 8)} {line(prize['amount'], 32)}" if prize.get("amount") else ""
        sentences.append(" and ".join(filter(None, (money, line(prize.get("other") or "", 200)))) or "the title")
    return "; ".join(sentences) or "the title"


def _with_code(api: Client, competition: str, code: str, answers: dict[str, str]) -> JSON:
    """Return the competition that the code opens; a valid code stays redeemed if rules are left to accept."""
    try:
        return api.enter(competition, code=code, **answers)
    except Refused as refused:
        if refused.status != 409:
            raise
        try:
            return api.competition(competition)
        except Refused:
            raise refused from None


def _visible(api: Client, competition: str) -> JSON:
    try:
        return api.competition(competition)
    except Refused as refused:
        if refused.status != 404:
            raise
        name = line(competition, 64)
        raise Refused(
            f"competition: you see none called {name!r}; `photofinish competitions` lists them; "
            f"`photofinish enter {name} --code CODE` opens a closed one",
            404,
        ) from None


def _ask_acceptance(screen: Screen, api: Client, competition: JSON) -> None:
    """Show the rules and ask for acceptance. Raises Misuse if they are not accepted."""
    if not competition.get("rules"):
        return
    where = line(api.address(f"/competitions/{competition.get('slug', '')}"))
    if sys.stdin is None or not sys.stdin.isatty():
        raise Misuse(f"rules: read them at {where}, then add --accept-rules")
    screen.say(str(competition["rules"]))
    if not typer.confirm("Do you accept these rules?", err=True):
        raise Misuse(f"rules: not accepted, so nothing was entered; they are at {where}")
