"""Export of a person's data: a zip file with account.json, the source of each submission and draft, and worklogs."""

import io
import json
import zipfile
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, Max, Q, QuerySet

from leaderboard.accounts.logins import logins_and_agents
from leaderboard.accounts.models import ApiToken, DataSetChoice, User
from leaderboard.audit.models import Row
from leaderboard.classes.models import Appeal, Extension, Grade, Remark, Seat, Work
from leaderboard.competitions.models import Role
from leaderboard.entrants.models import Membership, TeamInvite
from leaderboard.inbox.models import Message, Preference
from leaderboard.judging.models import Attempt
from leaderboard.matches.models import HandIn, Match, Prediction, SectionText, Version
from leaderboard.matches.permissions import authored_by, written_by
from leaderboard.submissions.models import Draft, Lineage, Note, Parent, Submission

MOST_BYTES: Final = 100_000_000  # of the packed sources; the API has the rest
CHUNK: Final = 50  # submissions at a time


def export_of(account: User) -> bytes:
    """Return the zip file of the account and its agents, without secrets: those are digests, or open the account."""
    mine = logins_and_agents([account.account_id])
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for draft in Draft.objects.filter(user__in=mine).iterator(chunk_size=CHUNK):
            packed.writestr(f"drafts/{draft.user_id}-{draft.slug}.txt", draft.source)
        last = HandIn.objects.filter(match__in=authored_by(mine)).order_by().values("match").annotate(Max("id"))
        kept = Q(match__in=Match.objects.filter(written_by(mine))) | Q(pk__in=last.values("id__max"))
        for one in HandIn.objects.filter(kept).iterator(chunk_size=1):
            packed.writestr(f"worklogs/{one.match_id}-{one.pk}.json", json.dumps(one.document, indent=1))
        left_out = _pack_sources(packed, Submission.objects.filter(owner__in=mine))
        data = {**_tables(mine), "sources_left_out": left_out}
        packed.writestr("account.json", json.dumps(data, cls=DjangoJSONEncoder, indent=1))
    return target.getvalue()


def _tables(mine: Any) -> dict[str, list[dict[str, Any]]]:
    keys = [str(pk) for pk in mine.values_list("pk", flat=True)]
    by_the_site = Row.objects.filter(actor=None, object_type=User._meta.label_lower, object_id__in=keys)
    asked: dict[str, tuple[QuerySet[Any], str]] = {
        "logins": (
            User.objects.filter(pk__in=mine, agent_of=None),
            "username email date_joined last_login linked_to_id is_active",
        ),
        "addresses": (EmailAddress.objects.filter(user__in=mine), "email verified"),
        "providers": (SocialAccount.objects.filter(user__in=mine), "provider uid extra_data date_joined last_login"),
        "second_factors": (Authenticator.objects.filter(user__in=mine), "type created_at last_used_at"),
        "sessions": (UserSession.objects.filter(user__in=mine), "ip user_agent created_at"),
        "tokens": (
            ApiToken.objects.filter(owner__in=mine),
            "name prefix scopes device_s_per_day per_hour created_at last_used_at expires_at revoked_at",
        ),
        "agents": (User.objects.filter(agent_of__in=mine), "username date_joined"),
        "data_sets": (DataSetChoice.objects.filter(account__in=mine), "choice changed_at"),
        "roles": (Role.objects.filter(user__in=mine), "competition__slug role"),
        "entries": (
            Membership.objects.filter(user__in=mine),
            "competition__slug entrant__name entrant__pseudonym entrant__affiliation entrant__division role joined_at "
            "left_at",
        ),
        "invites": (TeamInvite.objects.filter(user__in=mine), "entrant__name created_at answer answered_at"),
        "submissions": (
            Submission.objects.filter(owner__in=mine).annotate(board_slug=F("board__slug"), on=F("board__hardware")),
            "id owner__username board_slug on mode filename licence size_bytes created_at",
        ),
        "lineages": (
            Lineage.objects.filter(submission__owner__in=mine),
            "submission_id idea model prompt_sha256 sampling cost_usd strategy run",
        ),
        "parents": (Parent.objects.filter(child__owner__in=mine), "child_id parent_id"),
        "matches": (
            Match.objects.filter(Q(operator__in=mine) | Q(human__memberships__user__in=mine)).distinct(),
            "id board__slug board__hardware human__name model machine created_at human_public_at machine_public_at "
            "texts_public_at closed_at",
        ),
        "drafts": (Draft.objects.filter(user__in=mine), "slug filename hardware mode size_bytes saved_at"),
        "notes": (Note.objects.filter(user__in=mine), "submission_id text saved_at"),
        "worklogs": (
            SectionText.objects.filter(match__in=Match.objects.filter(written_by(mine))),
            "match_id section text revision saved_at",
        ),
        "verdicts": (
            Attempt.objects.filter(submission__owner__in=mine, is_current=True),
            "submission_id state outcome",
        ),
        "seats": (
            Seat.objects.filter(account__in=mine),
            "course__competition__slug section__name name joined_at left_at",
        ),
        "extensions": (
            Extension.objects.filter(seat__account__in=mine),
            "assignment__title until reason created_at",
        ),
        "works": (
            Work.objects.filter(entrant__memberships__user__in=mine).distinct(),
            "assignment__title match_id created_at",
        ),
        "grades": (
            Grade.objects.filter(
                work__match__in=authored_by(mine),
                work__assignment__released_at__isnull=False,
                submitted_at__isnull=False,
            ),
            "work__assignment__title work__match_id scores text moderated submitted_at",
        ),
        "remarks": (
            Remark.objects.filter(work__match__in=authored_by(mine), work__assignment__released_at__isnull=False),
            "work__match_id section line number text created_at",
        ),
        "appeals": (Appeal.objects.filter(author__in=mine), "work__match_id text created_at answer answered_at"),
        "grades_given": (Grade.objects.filter(grader__in=mine), "work_id scores text moderated saved_at submitted_at"),
        "remarks_made": (Remark.objects.filter(grader__in=mine), "work_id section line number text created_at"),
        "predictions": (Prediction.objects.filter(author__in=mine), "match_id bound speedup why committed_at"),
        "match_versions": (
            Version.objects.filter(submission__owner__in=mine),
            "match_id side number submission_id reason expected prompt answer turn created_at",
        ),
        "messages": (
            Message.objects.filter(user__in=mine),
            "kind title text url count created_at updated_at read_at",
        ),
        "message_choices": (Preference.objects.filter(user__in=mine), "page mail webhook hook_host hook_format"),
        "acts": (
            Row.objects.filter(actor__in=mine) | by_the_site,
            "act object_type object_id reason before after address created_at",
        ),
    }
    return {name: list(rows.order_by("pk").values(*fields.split())) for name, (rows, fields) in asked.items()}


def _pack_sources(packed: zipfile.ZipFile, sent: QuerySet[Submission]) -> int:
    """Pack the newest sources until the file is full; return how many are left out."""
    count = 0
    for submission in sent.order_by("-pk").only("filename", "source").iterator(chunk_size=CHUNK):
        if packed.fp is None or packed.fp.tell() > MOST_BYTES:
            break
        packed.writestr(f"submissions/{submission.pk}/{submission.filename}", submission.source)
        count += 1
    return sent.count() - count
