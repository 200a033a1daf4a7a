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
    local word path="" names="" options="" current="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$path/$word" in
%(paths)s            path="$path/$word" ;;
        esac
    done
    case "$path" in
%(words)s    esac
    [[ $current == -* ]] && names="$options"
    COMPREPLY=($(compgen -W "$names" -- "$current"))
}
complete -o default -F _photofinish photofinish
"""  # without commands below and without a dash, bash completes the names of files
_ZSH: Final = "autoload -U +X bashcompinit && bashcompinit\n"


def script(shell: str, program: Any) -> str:
    """Return the script of a shell in SHELLS. `program`: the root command."""
    words = {path: (names, options) for path, names, options in _words(program, "")}
    if shell == "fish":
        return "".join(_fish(words))
    known = " | ".join(path for path in words if path)
    cases = "".join(
        f'        "{path}") names="{" ".join(names)}" options="{" ".join(options)}" ;;\n'
        for path, (names, options) in words.items()
    )
    text = _BASH % {"paths": f"            {known})\n    ", "words": cases}
    return _ZSH + text if shell == "zsh" else text


def _words(command: Any, path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the path of each command below, such as /problem/new, with its commands and its long options."""
    below = getattr(command, "commands", {})
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    options = [name for one in shown for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    yield path, [*below], [*options, "--help"]
    for name, inner in below.items():
        yield from _words(inner, f"{path}/{name}")


def _fish(words: dict[str, tuple[list[str], list[str]]]) -> Iterator[str]:
    for path, (names, options) in words.items():
        parts = path.split("/")[1:]
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        yield f"complete -c photofinish -n '{seen}' -a '{' '.join([*names, *options])}'\n"
