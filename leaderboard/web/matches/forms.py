"""Forms of a match. They check shape only; leaderboard/matches/acts.py decides."""

from typing import Any, Final

from django import forms

from leaderboard.matches.acts import MOST_NOTE_CHARS, MOST_TURNS, Exchange
from leaderboard.matches.models import (
    COMPUTE,
    LATENCY,
    MEMORY,
    MOST_ANSWER_CHARS,
    MOST_PROMPT_CHARS,
    MOST_REASON_CHARS,
    MOST_WHY_CHARS,
    PASTED,
    PROMPTS,
    SEARCH,
)
from leaderboard.source import read_code
from leaderboard.submissions.intake import Upload
from leaderboard.web.forms import ActForm, SubmitForm, plain_input

BOUNDS: Final = {
    MEMORY: "Memory: moving the data takes the time",
    COMPUTE: "Compute: the arithmetic takes the time",
    LATENCY: "Latency: starting and waiting takes the time",
}
MACHINES: Final = {
    PASTED: "Pasted answers: you ask the model anywhere, and paste prompt and answer here",
    PROMPTS: "Prompt by prompt: photofinish match play asks an endpoint or a command",
    SEARCH: "A search: photofinish search --match lets a proposer write many kernels",
}


class OpenForm(ActForm):
    model = forms.CharField(
        max_length=128,
        help_text="As its maker names it, such as meta/llama-4:70b. The lineage of its kernels has the same name.",
        widget=plain_input(),
        error_messages={"required": "Name the model that you play against."},
    )
    machine = forms.ChoiceField(
        label="How the machine plays", choices=list(MACHINES.items()), widget=forms.RadioSelect, initial=PASTED
    )


class PredictForm(ActForm):
    bound = forms.ChoiceField(
        label="What will bound your best kernel?",
        choices=list(BOUNDS.items()),
        widget=forms.RadioSelect,
        error_messages={"required": "Choose the bound that you expect."},
    )
    speedup = forms.FloatField(
        label="Expected speed-up",
        help_text="Of your best kernel over the eager reference: 2 is twice as fast.",
        widget=forms.NumberInput(attrs={"step": "any", "min": "0", "inputmode": "decimal"}),
        error_messages={"required": "Enter a number.", "invalid": "Enter a number such as 1.8."},
    )
    why = forms.CharField(
        help_text="Bytes moved, operations, launches: the reasoning behind both. 20 to 2,000 characters.",
        widget=forms.Textarea(attrs={"rows": 4, "maxlength": MOST_WHY_CHARS}),
        error_messages={"required": "Write why."},
    )


class CodeOfMatchForm(SubmitForm):
    """A kernel as file or pasted code, without the choices that the match has made."""

    def upload(self) -> Upload:
        sent = self.cleaned_data
        return Upload(
            board="", hardware="", mode="", filename=sent["filename"], data=sent["data"], licence=sent["licence"]
        )


class VersionForm(CodeOfMatchForm):
    """A version of the human side. From the second version on, its page shows reason and expected speed-up."""

    reason = forms.CharField(
        required=False,
        label="Reason of the change",
        help_text="One or two sentences.",
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": MOST_REASON_CHARS}),
    )
    expected = forms.FloatField(
        required=False,
        label="Expected speed-up of this version",
        help_text="Over the eager reference.",
        widget=forms.NumberInput(attrs={"step": "any", "min": "0", "inputmode": "decimal"}),
        error_messages={"invalid": "Enter a number such as 1.8."},
    )


class AnswerForm(forms.Form):
    """A model's answer with its prompt. `code`: instead of the longest code block of the answer."""

    prompt = forms.CharField(
        help_text=f"The exact text that you sent to the model, at most {MOST_PROMPT_CHARS:,} characters.",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "code", "spellcheck": "false"}),
        error_messages={"required": "Paste the prompt."},
    )
    answer = forms.CharField(
        help_text=f"The whole answer, at most {MOST_ANSWER_CHARS:,} characters. Its longest code block is judged.",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "class": "code", "spellcheck": "false"}),
        error_messages={"required": "Paste the answer."},
    )
    turn = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_TURNS,
        help_text="Its number in the dialogue, if the model saw earlier answers.",
    )
    code = forms.CharField(
        required=False,
        strip=False,
        help_text="Only if another part of the answer than its longest code block is the kernel.",
        widget=forms.Textarea(attrs={"rows": 4, "class": "code", "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        data |= {name: data.get(name, "").replace("\r\n", "\n") for name in ("prompt", "answer", "code")}
        data["code"] = data["code"].strip("\n") or read_code(data["answer"])
        if data["answer"] and not data["code"]:
            self.add_error("answer", "It has no code block between ``` lines. Paste the kernel under “Code”.")
        return data

    def upload(self) -> Upload:
        return Upload(board="", hardware="", mode="", filename="", data=(self.cleaned_data["code"] + "\n").encode())

    def exchange(self) -> Exchange:
        return Exchange(**{name: self.cleaned_data[name] for name in ("prompt", "answer", "turn")})


class ChooseForm(ActForm):
    note = forms.CharField(
        required=False,
        max_length=MOST_NOTE_CHARS,
        help_text="Why it is worth a look; everybody reads it.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
