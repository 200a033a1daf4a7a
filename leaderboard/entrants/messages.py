"""Messages of organisers to the entrants of a competition, by mail to confirmed addresses.

The organiser sees a number, never an address. A message is a mail for each person, which the outbox keeps until the
mail server takes it.
"""

from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.accounts.models import User
from leaderboard.audit.models import Row
from leaderboard.audit.record import record
from leaderboard.competitions.checks import check_choice, check_line, check_text
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import seeing_members
from leaderboard.errors import UserError

ALL: Final = "all"
SILENT: Final = "silent"
GROUPS: Final = (ALL, SILENT)
MAX_SUBJECT_CHARS: Final = 120
MAX_TEXT_CHARS: Final = 10_000
MOST_RECIPIENTS: Final = 5_000
AT_ONCE: Final = 500  # mails written by one query
MOST_MESSAGES: Final = 3  # of a competition in PER
PER: Final = timedelta(days=1)
ACT: Final = "message_entrants"
FOOT: Final = """
--
You get this mail because you entered {name}: {url}
The organisers wrote it; they do not see your address.
"""


def recipients(competition: Competition, group: str) -> QuerySet[EmailAddress]:
    """Return the confirmed addresses of present members who see the competition. `silent`: without a submission."""
    entrants = Entrant.objects.filter(competition=competition)
    if group == SILENT:
        entrants = entrants.exclude(Exists(Entrant.objects.filter(pk=OuterRef("pk"), submissions__isnull=False)))
    members = seeing_members(competition).filter(entrant__in=entrants)
    addresses = EmailAddress.objects.filter(verified=True, primary=True, user__is_active=True)
    found: QuerySet[EmailAddress] = addresses.filter(user__in=members.values("account")).order_by("pk")
    return found


@transaction.atomic
def message_entrants(
    *, competition: Competition, actor: User, group: str, subject: str, text: str, now: datetime
) -> int:
    """Send a message; return the number of its recipients."""
    check_role(actor, competition, Role.OWNER, "write to its entrants")
    check_choice("group", group, GROUPS)
    check_line("subject", subject, most=MAX_SUBJECT_CHARS, least=1)
    check_text("text", text, most=MAX_TEXT_CHARS, least=1)
    if not settings.MAIL_URL:
        raise UserError("text", "", "this site sends no mail: publish an announcement instead", status=409)
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # two messages at once count each other
    label = Competition._meta.label_lower
    sent = Row.objects.filter(act=ACT, object_type=label, object_id=str(competition.pk), created_at__gt=now - PER)
    if sent.count() >= MOST_MESSAGES:
        wait = "wait a day, or publish an announcement"
        raise UserError("text", "", f"{MOST_MESSAGES} messages were sent within a day, which is the most: {wait}", 429)
    addresses = list(recipients(competition, group).values_list("email", flat=True)[: MOST_RECIPIENTS + 1])
    if not addresses:
        raise UserError("group", group, "nobody of them has a confirmed address", status=409)
    if len(addresses) > MOST_RECIPIENTS:
        many = f"more than {MOST_RECIPIENTS:,} people: publish an announcement instead"
        raise UserError("group", group, many, status=409)
    body = (
        text.strip()
        + "\n"
        + FOOT.format(name=competition.name, url=f"{settings.SITE_URL}/competitions/{competition.slug}")
    )
    connection = get_connection()
    mails = [EmailMessage(f"{competition.name}: {subject}", body, None, [address]) for address in addresses]
    for start in range(0, len(mails), AT_ONCE):
        connection.send_messages(mails[start : start + AT_ONCE])
    after = {"group": group, "subject": subject, "recipients": len(addresses)}
    record(ACT, competition, actor=actor, reason=subject, now=now, after=after)
    return len(addresses)
