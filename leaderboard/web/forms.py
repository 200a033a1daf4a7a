"""Forms: parse a person's input once. They check shape only; the acts decide whether it is allowed."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.files.uploadedfile import UploadedFile

from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.errors import UserError
from problems.fields import ProblemError
from problems.formats.git import MAX_ADDRESS_CHARS, MAX_FOLDER_CHARS, MAX_REF_CHARS
from problems.formats.kernelbench import FP32, HALF, PRECISIONS
from problems.spec import MAX_GPUS, as_words

MAX_PASSWORD_CHARS: Final = 4096
MAX_KEY: Final = 2**63 - 1


def plain_input(**attributes: str | bool) -> forms.TextInput:
    """Return an input for a name or a code, which browsers must neither complete nor correct."""
    return forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"} | attributes)


def password_field(label: str, help_text: str = "", autocomplete: str = "off") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, help_text=help_text, max_length=MAX_PASSWORD_CHARS, strip=False, widget=widget)


def reason_field(*, required: bool = True, help_text: str = "Stored with your name and the time.") -> forms.CharField:
    return forms.CharField(
        required=required,
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=help_text,
        error_messages={"required": "Enter a reason."},
    )


def sentence(text: str) -> str:
    """Return the text of a refusal as a sentence with capital and full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def add_refusal(form: forms.BaseForm, error: UserError, names: Mapping[str, str] | None = None) -> None:
    """Add an act's refusal to its field (`names`: fields of the act → fields of the form), else above the form.

    The message about a result has no subject of its own.
    """
    field = (names or {}).get(error.field, error.field)
    message = f"this result {error.message}" if error.field == "result" else error.message
    form.add_error(field if field in form.fields else None, sentence(message))


class ActForm(forms.Form):
    """A form that is sent to an act. `refused`: the HTTP status of the act's refusal."""

    refused: int | None = None

    @property
    def status(self) -> int:
        """HTTP status of a page with this form: 400 for wrong input, and the refusal's own."""
        return self.refused or (400 if self.errors else 200)

    def arguments(self) -> dict[str, Any]:
        """Return the act's arguments. The form must be valid."""
        return self.cleaned_data


class ReasonForm(ActForm):
    reason = reason_field()


class SubmitForm(forms.Form):
    """A submission as file or pasted code; the file wins. `data` is the sent bytes, unchecked."""

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
    remixed_from = forms.IntegerField(required=False, min_value=1, max_value=MAX_KEY)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload: UploadedFile[bytes] | None = data.get("file")
        if upload is not None:
            data["data"] = upload.read()  # all of it, so the refusal can give its size; asgi.py limits the request
            data["filename"] = upload.name
        else:
            data["data"] = data.get("code", "").replace("\r\n", "\n").encode()
        return data


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Invite code",
        max_length=128,
        help_text="It begins with pfi_ and works once.",
        widget=plain_input(),
        error_messages={"required": "Enter the code that you were given."},
    )


class EnterForm(forms.Form):
    """`rules_digest`: of the rules that were on the page; "" if it showed no rules."""

    rules_digest = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    accept = forms.BooleanField(required=False, label="I have read these rules and accept them")


class HardwareForm(forms.Form):
    """The choices of an import: `hardware` instead of what the sets name, and boards that stay open."""

    hardware = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Names separated by commas, such as cpu, H200. Empty: the hardware that the sets name. KernelBench "
        "names none.",
        widget=plain_input(),
    )
    without_deadlines = forms.BooleanField(required=False)
    precision = forms.ChoiceField(
        required=False,
        choices=[(FP32, "fp32: as the files are"), *((name, f"{name}: variants") for name in HALF)],
        help_text="Of KernelBench files. Variants have boards and a competition of their own.",
        error_messages={
            "invalid_choice": f"“%(value)s” is unknown; choose one of {', '.join(PRECISIONS)}.",
        },
    )

    def clean_precision(self) -> str:
        return self.cleaned_data["precision"] or FP32

    def clean_hardware(self) -> tuple[str, ...]:
        names = [name.strip() for name in self.cleaned_data["hardware"].split(",") if name.strip()]
        try:
            return as_words(names, "hardware", MAX_GPUS)
        except ProblemError as error:
            raise forms.ValidationError(f"{error.message}.") from error


class GitForm(HardwareForm):
    address = forms.CharField(
        label="Git address",
        max_length=MAX_ADDRESS_CHARS,
        help_text="https, of a public repository.",
        widget=plain_input(placeholder="https://github.com/team/problems"),
    )
    ref = forms.CharField(
        label="Branch, tag or commit",
        required=False,
        max_length=MAX_REF_CHARS,
        help_text="Empty: the default branch.",
        widget=plain_input(),
    )
    folder = forms.CharField(
        required=False,
        max_length=MAX_FOLDER_CHARS,
        help_text="Of the sets in the repository. Empty: all of it.",
        widget=plain_input(),
    )
    field_order = ("address", "ref", "folder")


class SetForm(HardwareForm):
    archive = forms.FileField(
        label="Zip file",
        allow_empty_file=True,
        max_length=200,
        help_text="One or more problem sets (<set>.yaml beside the folders of its problems), or the KernelBench folder "
        "with its levels.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
        error_messages={"required": "Choose a zip file."},
    )
