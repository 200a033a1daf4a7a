"""Completion scripts for shells, written from the tree of commands: a key press starts no process. Pure."""

from collections.abc import Iterator
from typing import Any, Final

SHELLS: Final = ("bash", "zsh", "fish")
WHERE: Final = {
    "bash": '~/.bashrc: eval "$(photofinish completion bash)"',
    "zsh": '~/.zshrc: eval "$(photofinish completion zsh)"',
    "fish": "~/.config/fish/config.fish: photofinish completion fish | source",
}
_BASH: Final = """\
_photofinish() {
    local word path="" current="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$path/$word" in
%(paths)s            path="$path/$word" ;;
        esac
    done
    case "$path" in
%(words)s    esac
}
complete -o default -F _photofinish photofinish
"""
_ZSH: Final = "autoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, program: Any) -> str:
    """Return the script of a shell in SHELLS. `program`: the root command."""
    words = dict(_words(program, ""))
    if shell == "fish":
        return "".join(_fish(words))
    known = " | ".join(path for path in words if path)
    cases = "".join(
        f'        "{path}") COMPREPLY=($(compgen -W "{" ".join(names)}" -- "$current")) ;;\n'
        for path, names in words.items()
    )
    text = _BASH % {"paths": f"            {known})\n    ", "words": cases}
    return _ZSH + text if shell == "zsh" else text


def _words(command: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each command below, such as /problem/new, with its commands and long options."""
    below = getattr(command, "commands", {})
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    options = [name for one in shown for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    yield path, [*below, *options, "--help"]
    for name, inner in below.items():
        yield from _words(inner, f"{path}/{name}")


def _fish(words: dict[str, list[str]]) -> Iterator[str]:
    for path, names in words.items():
        parts = path.split("/")[1:]
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        yield f"complete -c photofinish -n '{seen}' -a '{' '.join(names)}'\n"
