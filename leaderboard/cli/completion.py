"""Completion scripts for shells, written from the tree of commands: a key press starts no process. Pure.

The values of an option or argument are completed where its metavar lists them: human|agent|mixed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

SHELLS: Final = ("bash", "zsh", "fish")
WHERE: Final = {
    "bash": '~/.bashrc: eval "$(photofinish completion bash)"',
    "zsh": '~/.zshrc: eval "$(photofinish completion zsh)"',
    "fish": "~/.config/fish/config.fish: photofinish completion fish | source",
}
_BASH: Final = """\
_photofinish() {
    local word path="" names="" options="" values="" current="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$path/$word" in
%(paths)s            path="$path/$word" ;;
        esac
    done
    case "$path" in
%(words)s    esac
    case "$path ${COMP_WORDS[COMP_CWORD-1]}" in
%(values)s    esac
    [[ $current == -* ]] && names="$options"
    [[ $values ]] && names="$values"
    COMPREPLY=($(compgen -W "$names" -- "$current"))
}
complete -o default -F _photofinish photofinish
"""  # without commands below and without a dash, bash completes the names of files
_ZSH: Final = "autoload -U +X bashcompinit && bashcompinit\n"


class Words(NamedTuple):
    """Words that may follow the name of a command."""

    names: list[str]  # of the commands below, and the listed values of its arguments
    options: list[str]
    valued: dict[str, list[str]]  # options with listed values


def script(shell: str, program: Any) -> str:
    """Return the script of a shell in SHELLS. `program`: the root command."""
    words = dict(_words(program, ""))
    if shell == "fish":
        return "".join(_fish(words))
    known = " | ".join(path for path in words if path)
    cases = "".join(
        f'        "{path}") names="{" ".join(names)}" options="{" ".join(options)}" ;;\n'
        for path, (names, options, _) in words.items()
    )
    listed = "".join(
        f'        "{path} {option}") values="{" ".join(values)}" ;;\n'
        for path, (_, _, valued) in words.items()
        for option, values in valued.items()
    )
    text = _BASH % {"paths": f"            {known})\n    ", "words": cases, "values": listed}
    return _ZSH + text if shell == "zsh" else text


def _words(command: Any, path: str) -> Iterator[tuple[str, Words]]:
    """Yield the path of each command below, such as /problem/new, with its words."""
    below = getattr(command, "commands", {})
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    options = [name for one in shown for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    names, valued = [*below], dict[str, list[str]]()
    for one in shown:
        values = one.metavar.split("|") if "|" in (one.metavar or "") else []
        if one.param_type_name == "argument":
            names += values
        elif values:
            valued |= dict.fromkeys(one.opts, values)
    yield path, Words(names, [*options, "--help"], valued)
    for name, inner in below.items():
        yield from _words(inner, f"{path}/{name}")


def _fish(words: Mapping[str, Words]) -> Iterator[str]:
    for path, (names, options, valued) in words.items():
        parts = path.split("/")[1:]
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        yield f"complete -c photofinish -n '{seen}' -a '{' '.join([*names, *options])}'\n"
        for option, values in valued.items():
            kind = "l" if option.startswith("--") else "s"
            yield f"complete -c photofinish -n '{seen}' -{kind} {option.lstrip('-')} -xa '{' '.join(values)}'\n"
