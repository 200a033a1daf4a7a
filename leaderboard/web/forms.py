"""Forms: parse a person's input once. They check shape only; the acts decide whether it is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator

from leaderboard.accounts.models import SCOPES, USUAL_SCOPES, User
from leaderboard.entrants.permissions import is_taken
from problems.errors import ProblemError
from problems.spec import MAX_GPUS, as_words

if TYPE_CHECKING:
    _UserCreationForm = UserCreationForm[User]
    _Upload = UploadedFile[bytes]
else:  # generic in the stubs only
    _UserCreationForm, _Upload = UserCreationForm, UploadedFile

MAX_NAME_CHARS: Final = 32
NAME_RULE: Final = "Letters, digits and . _ -, starting with a letter or digit, at most 32 characters."


class Described:
    """Mixin that points each input at its hint and its errors, for users of screen readers."""

    fields: dict[str, forms.Field]
    errors: Any
    auto_id: Any

    def describe(self) -> None:
        for name, field in self.fields.items():
            own = self[name].auto_id  # type: ignore[index]
            ids = [f"{own}_hint"] if field.help_text else []
            if name in self.errors:
                ids.append(f"{own}_error")
                field.widget.attrs["aria-invalid"] = "true"
            if ids:
                field.widget.attrs["aria-describedby"] = " ".join(ids)


class SignInForm(Described, AuthenticationForm):
    error_messages = {
        "invalid_login": "Name and password do not belong together. Mind upper and lower case in both.",
        "inactive": "This account is closed.",
    }


def check_free(username: str) -> None:
    if is_taken(username):
        raise forms.ValidationError("This name is taken, or looks like one that is. Choose another.")


class SignUpForm(Described, _UserCreationForm):
    username = forms.CharField(
        max_length=MAX_NAME_CHARS,
        help_text=NAME_RULE,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", NAME_RULE), check_free],
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}),
    )

    class Meta:
        model = User
        fields = ("username",)


class PasswordForm(Described, PasswordChangeForm):
    """Django's form for a new password, with a choice of login if the account has several."""

    login = forms.ChoiceField(label="Login", required=False)
    field_order = ("login", "old_password", "new_password1", "new_password2")

    def __init__(self, user: User, *arguments: Any, own: Sequence[User]) -> None:
        super().__init__(user, *arguments)
        names = [login.get_username() for login in own]
        if len(names) > 1:
            self.fields["login"] = forms.ChoiceField(
                label="Login", choices=[(name, name) for name in names], initial=user.get_username()
            )
            self.order_fields(self.field_order)
        else:
            del self.fields["login"]


class LinkForm(Described, forms.Form):
    """Link another login of the same person. Its password proves the login; the account's password proves the owner."""

    username = forms.CharField(
        label="The other login's name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        label="Its password",
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    own_password = forms.CharField(
        label="Your own password",
        max_length=4096,
        strip=False,
        help_text="Of this login, once more.",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    keep = forms.ChoiceField(
        label="Which name stays",
        choices=[("", "The older login's"), ("this", "This one's"), ("other", "The other one's")],
        required=False,
    )


class TokenForm(Described, forms.Form):
    name = forms.CharField(max_length=64, help_text="Where you will use it, such as “laptop”.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        initial=list(USUAL_SCOPES),
        error_messages={"required": "Choose at least one scope."},
    )


class SubmitForm(Described, forms.Form):
    """A submission as file or pasted code; the file wins. `source` is the sent bytes, unchecked."""

    file = forms.FileField(
        required=False, allow_empty_file=True, widget=forms.FileInput(attrs={"accept": ".py,.cu,.cpp,text/*"})
    )
    code = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(
            attrs={"class": "code", "spellcheck": "false", "autocapitalize": "none", "autocomplete": "off", "rows": 24}
        ),
    )
    filename = forms.CharField(required=False, widget=forms.HiddenInput(attrs={"data-filename": ""}))
    mode = forms.CharField(required=False)
    hardware = forms.CharField(required=False)
    licence = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload: _Upload | None = data.get("file")
        if upload is not None:
            data["source"] = upload.read()  # all of it, so the refusal can give its size; asgi.py limits the request
            data["filename"] = upload.name
        else:
            data["source"] = data.get("code", "").replace("\r\n", "\n").encode()
        return data


class CodeForm(Described, forms.Form):
    code = forms.CharField(
        label="Invite code",
        max_length=128,
        help_text="It begins with pfi_ and can be used once.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
        error_messages={"required": "Type the code that you were given."},
    )


class EnterForm(Described, forms.Form):
    """`rules_digest`: of the rules that were on the page; "" if it showed no rules."""

    rules_digest = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    accept = forms.BooleanField(required=False, label="I have read these rules and accept them")


class SetForm(Described, forms.Form):
    archive = forms.FileField(
        label="Zip file",
        allow_empty_file=True,
        max_length=200,
        help_text="One or more sets with their folder, packed as it is: <set>.yaml and the folders of its problems; or "
        "the KernelBench folder with its levels.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
        error_messages={"required": "Choose a zip file."},
    )
    hardware = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Names with commas, such as cpu, H200. Empty: what the sets say (KernelBench says none).",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )
    without_deadlines = forms.BooleanField(required=False)

    def clean_hardware(self) -> tuple[str, ...]:
        names = [name.strip() for name in self.cleaned_data["hardware"].split(",") if name.strip()]
        try:
            return as_words(names, "hardware", MAX_GPUS)
        except ProblemError as error:
            raise forms.ValidationError(f"{error.message}.") from error


class ReasonForm(Described, forms.Form):
    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say why: the reason is kept with the decision."},
    )
