"""The life of an award: propose, confirm, approve, announce, withdraw. Owners of the competition only.

Each act locks the award, checks whether it still follows from the standing and refuses if it does not. A re-judging, a
retraction, a decision or another prize makes a proposal stale; it must then be made again. If two organisers act at
once, the second waits for the first's lock and then finds a changed state.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.logins import logins_and_agents
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.awards.models import ANNOUNCED, APPROVED, CONFIRMED, PROPOSED, WITHDRAWN, Award, Step
from leaderboard.awards.standing import (
    Pair,
    barred_entrants,
    board_standings,
    held_entrants,
    newest,
    places_of,
    unjudged,
)
from leaderboard.awards.standing import pairs as pairs_of
from leaderboard.awards.winners import Outcome, ordinal, propose, won
from leaderboard.competitions.calendar import is_frozen_at, is_over_at
from leaderboard.competitions.models import Announcement, Competition, Role, Track
from leaderboard.competitions.permissions import check_role
from leaderboard.confirmations import models as confirmations
from leaderboard.confirmations.ask import ask_confirmation
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.errors import UserError
from leaderboard.submissions.models import Submission

_MARKS: Final = re.compile(r"[\\`*_\[\]<>$&~|!]")  # of Markdown and its math

SETTLED: Final = confirmations.CONFIRMED  # a refused confirmation is a tie: it made the award of a single board stale

NO_LEAD: Final = "on a board the runs show no lead: say why it is taken as confirmed all the same, or do not award it"


@dataclass(frozen=True)
class Drawn:
    outcome: Outcome
    pairs: tuple[Pair, ...]  # to be confirmed before approval
    basis: str

    def to_json(self) -> dict[str, Any]:
        return {
            "winners": [winner.to_json() for winner in self.outcome.winners],
            "skipped": [{"entrant": entrant, "reason": reason} for entrant, reason in self.outcome.skipped.items()],
            "pairs": [
                asdict(pair) | {"candidate": list(pair.candidate), "incumbent": list(pair.incumbent)}
                for pair in self.pairs
            ],
        }


def draw(track: Track, *, now: datetime) -> Drawn:
    """Return the track's winners as of now, from the contest's full standing and everything further that decides.

    The digest of this input is an award's basis. While it is unchanged, drawing again gives the same winners.
    """
    boards = board_standings(track, now=now)
    places = places_of(track, boards, now=now)
    barred = barred_entrants(track, [place.entrant_id for place in places])
    prizes = list(track.prizes.order_by("place"))
    outcome = propose(places, prizes=prizes, tie_rule=track.tie_rule, barred=barred)
    pairs = pairs_of(track, boards, [place for place in places if place.entrant_id not in barred], outcome)
    basis = {
        "track": [track.kind, track.params, sorted(track.divisions), track.eligibility, track.tie_rule],
        "offers": [[one.place, str(one.amount), one.currency, one.sponsor, one.text] for one in prizes],
        "lines": [[place.entrant_id, place.rank, place.order, place.why] for place in places],
        "barred": sorted(barred.items()),
        "boards": [board.basis for board in boards],
    }
    digest = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    return Drawn(outcome, tuple(pairs), f"sha256:{digest}")


def names_of(contents: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Map every entrant in these awards to the name that the public reads: one query."""
    known = {one["entrant"] for content in contents for one in (*content["winners"], *content["skipped"])}
    known |= {pair[side] for content in contents for pair in content["pairs"] for side in ("upper", "lower")}
    return {entrant.pk: entrant.shown_name for entrant in Entrant.objects.filter(pk__in=known)}


@transaction.atomic
def propose_award(*, track: Track, actor: User, now: datetime) -> Award:
    """Propose winners from the current standing. A previous proposal is withdrawn unless it was announced."""
    competition = _check(track, actor, "propose winners")
    if not is_over_at(competition.schedule, now):
        raise _refused(track, "its contest is not over: winners are proposed once the deadline is past")
    living = Award.objects.select_for_update().filter(track=track).exclude(state=WITHDRAWN).first()
    if living is not None:
        if living.state == ANNOUNCED:
            raise _refused(track, "its winners are announced; withdraw that first, and say why")
        _step(living, WITHDRAWN, actor, "proposed anew", now)
    drawn = draw(track, now=now)
    if not drawn.outcome.winners:
        raise _refused(track, "nobody who may win it has a line in its standing")
    award = Award.objects.create(track=track, basis=drawn.basis, content=drawn.to_json(), created_at=now)
    _step(award, PROPOSED, actor, "", now)
    return award


@transaction.atomic
def confirm_award(*, award: Award, actor: User, now: datetime, without: str = "") -> int:
    """Ask runners for the missing confirmations and return their number; at 0 the award is confirmed.

    `without`: reason to take the award as confirmed although finished runs do not show it (no lead, held, runner
    failed).
    """
    award = _held(award, PROPOSED, actor, "confirm an award", now)
    if without:
        check_reason(without)
    tried = zip(award.content["pairs"], newest(award.content["pairs"]), strict=True)
    missing = [(pair, last) for pair, last in tried if last is None or last.outcome != SETTLED]
    if missing and without:
        if any(last is None or not last.is_done for _, last in missing):
            raise _refused(award.track, "runs are still missing: ask for them, and wait until a runner has made them")
        if any(last is not None and last.outcome == confirmations.FAILED for _, last in missing):
            raise _refused(award.track, "a winner failed on fresh seeds: decide on that result first")
    elif missing:
        wanted = [(pair, last) for pair, last in missing if last is None or last.outcome != confirmations.REFUSED]
        if not wanted:
            raise _refused(award.track, NO_LEAD)
        for pair, last in wanted:
            asked = pair["candidate"][0], pair["incumbent"][0]
            if last is not None and not last.is_done:
                # Asked for again, the queued confirmation of a record waits without the pause between records.
                asked = last.candidate_id, last.incumbent_id
            rows = Submission.objects.select_related("board").in_bulk(asked)
            candidate, incumbent = (rows[pk] for pk in asked)
            ask_confirmation(candidate=candidate, incumbent=incumbent, cause=confirmations.AWARD, actor=actor, now=now)
        return len(wanted)
    _step(award, CONFIRMED, actor, without, now)
    return 0


@transaction.atomic
def approve_award(*, award: Award, actor: User, reason: str, now: datetime) -> None:
    check_reason(reason)
    award = _held(award, CONFIRMED, actor, "approve an award", now)
    if award.track.competition.two_person_rule and award.steps.filter(state=PROPOSED, actor=actor).exists():
        raise _refused(award.track, "two people are wanted here: somebody else than who proposed it approves it")
    entrants = [winner["entrant"] for winner in award.winners]
    own = logins_and_agents([actor.person.pk])
    if Membership.objects.filter(entrant__in=entrants, user__in=own).exists():  # former team mates, too
        text = "they or their agent are among its winners, or were in a team that is: another owner approves it"
        raise UserError("actor", actor.get_username(), text, status=403)
    if held_entrants(award.track):
        raise _refused(award.track, "results on its boards are under review: decide on them first")
    if left := unjudged(award.track):
        raise _refused(award.track, f"{left} submissions to its boards are not judged yet: wait for them")
    _step(award, APPROVED, actor, reason, now)


@transaction.atomic
def announce_award(*, award: Award, actor: User, now: datetime) -> Announcement:
    """Publish the winners with an announcement."""
    award = _held(award, APPROVED, actor, "announce an award", now)
    if is_frozen_at(award.track.competition.schedule, now):
        raise _refused(award.track, "the standing is frozen: reveal it first, or the winners would tell what it hides")
    title = f"Winners: {award.track.name}"[:200]
    award.announcement = Announcement.objects.create(
        competition=award.track.competition, author=actor, title=title, text=_text(award), created_at=now
    )
    _step(award, ANNOUNCED, actor, "", now)
    return award.announcement


def _text(award: Award) -> str:
    names, lines = names_of([award.content]), []
    for winner in award.winners:
        place = ordinal(winner["place"]) + (" place (shared)" if winner["shared_by"] > 1 else " place")
        prize = f", {won(winner)}" if won(winner) else ""
        lines.append("- " + _MARKS.sub(r"\\\g<0>", f"{place}: {names.get(winner['entrant'], 'an entrant')}{prize}"))
    return "\n".join(lines)


def rename_winners(entrants: Sequence[int]) -> None:
    """Announce awards of these entrants under their present names."""
    for entrant in entrants:
        for award in Award.objects.filter(content__winners__contains=[{"entrant": entrant}]):
            Announcement.objects.filter(award=award).update(text=_text(award))


@transaction.atomic
def withdraw_award(*, award: Award, actor: User, reason: str, now: datetime) -> None:
    """Withdraw an award at any time, with a reason; its announcement is withdrawn as well."""
    check_reason(reason)
    award = _locked(award, actor, "withdraw an award")
    if award.state == WITHDRAWN:
        raise _refused(award.track, "it is withdrawn already")
    if award.announcement is not None:
        Announcement.objects.filter(pk=award.announcement.pk, withdrawn_at=None).update(withdrawn_at=now)
    _step(award, WITHDRAWN, actor, reason, now)


def is_stale(award: Award, *, now: datetime) -> bool:
    """Return whether drawing again would use a different basis."""
    return draw(award.track, now=now).basis != award.basis


def _held(award: Award, state: str, actor: User, act: str, now: datetime) -> Award:
    """Lock the award and return it. Raises UserError if its state is not `state` or it is stale."""
    award = _locked(award, actor, act)
    if award.state != state:
        raise _refused(award.track, f"it is {award.state}; only what is {state} can be taken further here")
    if is_stale(award, now=now):
        raise _refused(award.track, "the standing, the prizes or who may win changed since: propose it again")
    return award


def _locked(award: Award, actor: User, act: str) -> Award:
    _check(award.track, actor, act)
    awards = Award.objects.select_related("track__competition", "announcement")
    return awards.select_for_update(of=("self",)).get(pk=award.pk)


def _check(track: Track, actor: User, act: str) -> Competition:
    """Lock the competition, so that acts on its awards are serialised, and check the actor's role."""
    competition = Competition.objects.select_for_update(no_key=True).get(pk=track.competition_id)
    check_role(actor, competition, Role.OWNER, act)
    return competition


def _step(award: Award, state: str, actor: User, reason: str, now: datetime) -> None:
    before, award.state = award.state, state
    award.save(update_fields=["state", "announcement"])
    Step.objects.create(award=award, state=state, actor=actor, reason=reason, created_at=now)
    after = {"state": state, "track": award.track.slug}
    record(f"award_{state}", award, actor=actor, reason=reason, now=now, before={"state": before}, after=after)


def _refused(track: Track, why: str) -> UserError:
    return UserError("award", track.slug, why, status=409)
