"""Addresses of accounts. The names are allauth's; none of the addresses ends in a slash, as everywhere on the site.

`atomic` stands before views of allauth that send a mail about a change: both are kept, or neither.
"""

from allauth.account import views as account
from allauth.mfa.base import views as factors
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as keys
from allauth.socialaccount import views as social
from django.db.transaction import atomic
from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.http import require_POST

from leaderboard.web import limits
from leaderboard.web.accounts import device, mailbox, pages, providers
from leaderboard.web.accounts.pages import limited, needs_mail
from leaderboard.web.accounts.providers import leads_to_providers

FACTORS = "account/second-factor"

entrance: list[URLPattern | URLResolver] = [
    path("sign-up", leads_to_providers(pages.SignUp.as_view()), name="account_signup"),
    path("sign-up/finish", pages.FinishSignUp.as_view(), name="socialaccount_signup"),
    path("sign-in", leads_to_providers(pages.SignIn.as_view()), name="account_login"),
    path("sign-in/closed", account.account_inactive, name="account_inactive"),
    path("sign-in/code", pages.SecondFactor.as_view(), name="mfa_authenticate"),
    path("sign-in/passkey", limited(keys.login_webauthn, limits.PASSKEY_IP), name="mfa_login_webauthn"),
    path("sign-in/cancelled", social.login_cancelled, name="socialaccount_login_cancelled"),
    path("sign-in/failed", social.login_error, name="socialaccount_login_error"),
    *providers.addresses(),
    path("sign-out", require_POST(account.logout), name="account_logout"),
]
passwords: list[URLPattern | URLResolver] = [
    path("account/password", pages.ChangePassword.as_view(), name="account_change_password"),
    path("account/password/set", atomic(account.password_set), name="account_set_password"),
    path("account/password/reset", needs_mail(account.password_reset), name="account_reset_password"),
    path("account/password/reset/sent", account.password_reset_done, name="account_reset_password_done"),
    path(
        "account/password/reset/done", account.password_reset_from_key_done, name="account_reset_password_from_key_done"
    ),
    re_path(
        r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[-:\w]+)\Z",
        atomic(account.password_reset_from_key),
        name="account_reset_password_from_key",
    ),
]
second_factors: list[URLPattern | URLResolver] = [
    path(FACTORS, factors.index, name="mfa_index"),
    path(f"{FACTORS}/app", atomic(totp.activate_totp), name="mfa_activate_totp"),
    path(f"{FACTORS}/app/remove", atomic(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path(f"{FACTORS}/codes", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path(f"{FACTORS}/codes/new", atomic(codes.generate_recovery_codes), name="mfa_generate_recovery_codes"),
    path(f"{FACTORS}/codes/file", codes.download_recovery_codes, name="mfa_download_recovery_codes"),
    path(f"{FACTORS}/keys", keys.list_webauthn, name="mfa_list_webauthn"),
    path(f"{FACTORS}/keys/add", atomic(keys.add_webauthn), name="mfa_add_webauthn"),
    path(f"{FACTORS}/keys/<int:pk>/remove", atomic(keys.remove_webauthn), name="mfa_remove_webauthn"),
    path(f"{FACTORS}/keys/<int:pk>/edit", keys.edit_webauthn, name="mfa_edit_webauthn"),
]
own: list[URLPattern | URLResolver] = [
    path("account", pages.mine),
    path("account/link", pages.link),
    path("account/email", needs_mail(limited(atomic(account.email), limits.MAIL_USER)), name="account_email"),
    path("account/email/sent", account.email_verification_sent, name="account_email_verification_sent"),
    re_path(r"^account/email/(?P<key>[-:\w]+)\Z", atomic(account.confirm_email), name="account_confirm_email"),
    path("account/confirm", limited(account.reauthenticate, limits.PASSWORD_USER), name="account_reauthenticate"),
    path("account/confirm/code", limited(factors.reauthenticate, limits.PASSWORD_USER), name="mfa_reauthenticate"),
    path(
        "account/confirm/key",
        limited(keys.reauthenticate_webauthn, limits.PASSWORD_USER),
        name="mfa_reauthenticate_webauthn",
    ),
    path("account/sessions", pages.Sessions.as_view(), name="usersessions_list"),
    path("account/connections", leads_to_providers(social.connections), name="socialaccount_connections"),
    path("account/export", pages.export),
    path("account/data-sets", pages.data_sets),
    path("account/close", pages.close),
    path("device", device.page),
    path("tokens", pages.tokens),
    path("agents", pages.make_agent),
    path("tokens/<int:pk>/revoke", pages.revoke),
    path("mailbox", mailbox.index),
]
pages_of_accounts = [*entrance, *passwords, *second_factors, *own]
