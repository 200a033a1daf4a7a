"""The site's answers to allauth's questions: names, passwords, logins of an account, mail."""

from typing import Any, Final

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import context as current
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from leaderboard.accounts.logins import change_password, check_own_password
from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import seal, unseal
from leaderboard.audit.record import record
from leaderboard.env import is_address
from leaderboard.errors import UserError
from leaderboard.submissions.workspace import begin_welcome
from leaderboard.web import limits, metrics
from leaderboard.web.accounts.forms import clean_username

TYPED_LOGIN: Final = "typed_login"  # session key; from the password to the end of the sign-in
UNKNOWN_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # of a client without one
ASKED_FOR: Final = (  # mails that a stranger can have sent to any address
    "account/email/password_reset_key",
    "account/email/unknown_account",
    "account/email/email_confirmation",
    "account/email/email_confirmation_signup",
)

log = structlog.get_logger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "Wrong name or password. Both are case-sensitive.",
        "enter_current_password": "This is not your present password.",
        "incorrect_password": "This is not your password.",
    }

    def clean_username(self, username: str, shallow: bool = False) -> str:
        return username if shallow else clean_username(username)

    def reauthenticate(self, user: User, password: str) -> bool:
        """Take the password of any login of the account. The page counts guesses."""
        try:
            check_own_password(user, password)
        except UserError:
            return False
        return True

    def set_password(self, user: User, password: str) -> None:
        change_password(login=user, account=user.account, password=password, now=timezone.now())
        user.refresh_from_db()

    def post_login(self, request: HttpRequest, user: User, *, signup: bool, **named: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, signup=signup, **named)
        if signup:
            begin_welcome(user, timezone.now())
        else:
            note_sign_in(request, "done", user)
        typed = User.objects.filter(pk=request.session.pop(TYPED_LOGIN, None)).first()
        if typed is not None and typed.account_id != user.pk:
            typed = None  # a password that was right, for an account whose second factor was not asked or given
        limits.remember_device(request, response, typed or user)
        return response

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return "/welcome"

    def get_client_ip(self, request: HttpRequest) -> str:
        """asgi.py takes the address from TRUSTED_PROXIES alone."""
        address = str(request.META.get("REMOTE_ADDR") or "").partition("%")[0]
        return address if is_address(address) else UNKNOWN_ADDRESS

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return "/account"

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        return "/account" if self.request.user.is_authenticated else settings.LOGIN_URL

    def send_notification_mail(
        self, template_prefix: str, user: User, context: dict[str, Any] | None = None, email: str | None = None
    ) -> None:
        """Send a notice to the confirmed address: another may belong to a stranger."""
        confirmed = EmailAddress.objects.filter(user=user, verified=True)
        if email is None and (found := confirmed.order_by("-primary").first()):
            email = found.email
        if email:
            super().send_notification_mail(template_prefix, user, context, email)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail, unless strangers have had too many of its kind sent to this address."""
        request: HttpRequest = current.request
        if template_prefix in ASKED_FOR and limits.take_each(
            *limits.by_address(limits.MAIL_IP, request), (limits.MAIL_TO, f"{template_prefix} {email.lower()}")
        ):
            log.info("mail_limited", mail=template_prefix)
            return
        super().send_mail(template_prefix, email, context)


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Seals the keys of authenticator apps and of recovery codes, and has plain words."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "add_email_blocked": "Remove your second factor first: then you can add an address.",
        "cannot_generate_recovery_codes": "Set up an authenticator app or a passkey first.",
        "incorrect_code": "This code is wrong, or was used already.",
        "unverified_email": "Confirm your e-mail address first, or remove it.",
    }

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        return f"Key {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> User:
        """Take the address and propose the name; a person's real name is none of the site's business."""
        proposed = {name: data.get(name) for name in ("username", "email")}
        user: User = super().populate_user(request, sociallogin, proposed)
        return user


def note_sign_in(request: HttpRequest, result: str, user: User | None = None) -> None:
    """Record an attempt to sign in. The typed name is not kept: it may be a password in the wrong field."""
    metrics.SIGN_INS.labels(result).inc()
    if user is not None:
        record(f"sign_in_{result}", user, actor=user if result == "done" else None, now=timezone.now())
    agent = request.headers.get("User-Agent", "")[:200]
    log.info("sign_in", result=result, login=user.pk if user else None, agent=agent)
