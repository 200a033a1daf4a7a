"""Forms of accounts: allauth's, with this site's rules for names and its labels; tokens and links."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from allauth.account import forms as account_forms
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from allauth.socialaccount import forms as social_forms
from django import forms
from django.conf import settings
from django.core.validators import RegexValidator

from leaderboard.accounts.models import SCOPES, USUAL_SCOPES, User
from leaderboard.entrants.permissions import is_taken
from leaderboard.web.forms import password_field, plain_input

MAX_NAME_CHARS: Final = 32
MOST_DEVICE_S: Final = 86_400 * 64  # of a token: as much as 64 devices do in a day
MOST_PER_HOUR: Final = 100_000
NAME_RULE: Final = "Letters, digits and . _ -, starting with a letter or digit; at most 32 characters."
TAKEN: Final = "This name is taken, or too similar to a name that is. Choose another."
EMAIL_HINT: Final = "Optional. For a forgotten password and for notices about your account; no page shows it."
is_username = RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", NAME_RULE)


def clean_username(name: str) -> str:
    """Return the name if a new account may have it. Raises ValidationError."""
    is_username(name)
    if len(name) > MAX_NAME_CHARS:
        raise forms.ValidationError(NAME_RULE)
    if is_taken(name):
        raise forms.ValidationError(TAKEN)
    return name


class SignInForm(account_forms.LoginForm):  # type: ignore[misc]  # allauth has no types
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["login"].widget.attrs = {"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
        plain_labels(self)
        if not settings.MAIL_URL:
            self.fields["password"].help_text = ""  # nobody can be sent a link to a new password

    def add_prefix(self, field_name: str) -> str:
        return str(super().add_prefix("username" if field_name == "login" else field_name))


class NewAccount:
    """Part of the forms that make an account: the rules for its name, in the page and without surprises."""

    fields: dict[str, forms.Field]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        name, email = self.fields["username"], self.fields["email"]
        name.help_text = NAME_RULE
        name.widget.attrs |= {"maxlength": MAX_NAME_CHARS, "autocapitalize": "none", "autofocus": True}
        email.label, email.help_text = "E-mail", EMAIL_HINT
        if not settings.MAIL_URL:
            del self.fields["email"]
        plain_labels(self)


class SignUpForm(NewAccount, account_forms.SignupForm):  # type: ignore[misc]
    field_order = ("username", "email", "password1", "password2")


class SocialSignUpForm(NewAccount, social_forms.SignupForm):  # type: ignore[misc]
    field_order = ("username", "email")


class PasswordForm(account_forms.ChangePasswordForm):  # type: ignore[misc]
    """allauth's form for a new password, with a choice of login if the account has several."""

    field_order = ("login", "oldpassword", "password1", "password2")

    def __init__(self, *arguments: Any, own: Sequence[User], **named: Any) -> None:
        super().__init__(*arguments, **named)
        names = [login.get_username() for login in own]
        if len(names) > 1:
            self.fields["login"] = forms.ChoiceField(choices=[(name, name) for name in names], initial=names[0])
            self.order_fields(self.field_order)
        if not settings.MAIL_URL:
            self.fields["oldpassword"].help_text = ""
        plain_labels(self)


class PlainWords:
    """Part of allauth's forms."""

    fields: dict[str, forms.Field]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        plain_labels(self)
        if "email" in self.fields:
            self.fields["email"].label = "E-mail"


class AddressForm(PlainWords, account_forms.AddEmailForm):  # type: ignore[misc]
    pass


class ForgottenForm(PlainWords, account_forms.ResetPasswordForm):  # type: ignore[misc]
    pass


class NewPasswordForm(PlainWords, account_forms.ResetPasswordKeyForm):  # type: ignore[misc]
    pass


class FirstPasswordForm(PlainWords, account_forms.SetPasswordForm):  # type: ignore[misc]
    pass


class AgainForm(PlainWords, account_forms.ReauthenticateForm):  # type: ignore[misc]
    pass


class CodeForm(PlainWords, AuthenticateForm):  # type: ignore[misc]
    pass


class CodeAgainForm(PlainWords, ReauthenticateForm):  # type: ignore[misc]
    pass


class AppForm(PlainWords, ActivateTOTPForm):  # type: ignore[misc]
    pass


class KeyForm(PlainWords, AddWebAuthnForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        field = self.fields["passwordless"]
        field.label = "Sign in with it alone"
        field.help_text = "It replaces your password, and asks for your fingerprint, face or PIN."


def plain_labels(form: Any) -> None:
    """Give every field a label in sentence case, and no placeholder."""
    for field in form.fields.values():
        field.widget.attrs.pop("placeholder", None)
        field.label = field.label and str(field.label).capitalize()


class LinkForm(forms.Form):
    """Link another login of the same person. Its password proves the login; the account's password proves the owner."""

    username = forms.CharField(label="Name of the other login", max_length=150, widget=plain_input())
    password = password_field("Password of the other login")
    own_password = password_field("Your password", "The password of this login.", "current-password")
    keep = forms.ChoiceField(
        label="Name of the account",
        choices=[("", "The older login’s"), ("this", "This login’s"), ("other", "The other login’s")],
        required=False,
    )


class TokenForm(forms.Form):
    name = forms.CharField(max_length=64, help_text="Where you will use the token, such as “laptop”.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        initial=list(USUAL_SCOPES),
        error_messages={"required": "Choose at least one scope."},
    )
    days = forms.ChoiceField(
        label="Expires", choices=[("90", "in 90 days"), ("30", "in 30 days"), ("365", "in a year")], required=False
    )

    agent = forms.ChoiceField(label="For", required=False, choices=[("", "yourself")])
    device_s_per_day = forms.IntegerField(
        label="Device seconds a day",
        required=False,
        min_value=1,
        max_value=MOST_DEVICE_S,
        help_text="Of its submissions, in any 24 hours. Empty: no budget of its own.",
    )
    per_hour = forms.IntegerField(
        label="Submissions an hour",
        required=False,
        min_value=1,
        max_value=MOST_PER_HOUR,
        help_text="Empty: as the account.",
    )

    def __init__(self, *arguments: Any, agents: Sequence[str] = (), **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.fields["agent"].choices = [("", "yourself"), *((name, name) for name in agents)]  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        given = dict(self.cleaned_data)
        del given["agent"]
        return {"lifetime": timedelta(days=int(given.pop("days") or 90)), **given}


class AgentForm(forms.Form):
    agent_name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, help_text=NAME_RULE, widget=plain_input())

    def clean_agent_name(self) -> str:
        return clean_username(self.cleaned_data["agent_name"])


class CloseForm(forms.Form):
    CLOSE: Final = "close"
    ERASE: Final = "erase"

    how = forms.ChoiceField(
        label="What shall happen?",
        choices=[(CLOSE, "Close the account"), (ERASE, "Close it and erase me")],
        widget=forms.RadioSelect,
        error_messages={"required": "Choose one."},
    )
    username = forms.CharField(label="Name of your account", max_length=150, widget=plain_input())
