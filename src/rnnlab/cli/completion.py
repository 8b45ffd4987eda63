"""rnnlab completion"""

from typing import Annotated, Literal

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag
from rnnlab.core.words import say

BASH = r"""# bash completion for rnnlab; for this shell: eval "$(rnnlab completion bash)"
_rnnlab() {
    local line kind=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("$line"); fi
    done < <("$1" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ $kind == files ]]; then
        compopt -o filenames 2>/dev/null
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
complete -F _rnnlab rnnlab
"""
ZSH = r"""#compdef rnnlab
# zsh completion for rnnlab; for this shell: eval "$(rnnlab completion zsh)", after compinit
_rnnlab() {
    local -a answer ended endedmeans open openmeans
    local line value
    answer=("${(@f)$(${~words[1]} __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)answer[2,-1]}"; do
        value=${line%%$'\t'*}
        if [[ $value == *[=/] ]]; then
            open+=("$value"); openmeans+=("${line/$'\t'/  -- }")
        elif [[ -n $value ]]; then
            ended+=("$value"); endedmeans+=("${line/$'\t'/  -- }")
        fi
    done
    if [[ ${answer[1]} == files ]]; then
        compadd -f -a ended
        compadd -f -S '' -a open
    else
        compadd -l -d endedmeans -a ended
        compadd -l -d openmeans -S '' -a open
    fi
}
if [[ ${funcstack[1]} == _rnnlab ]]; then _rnnlab "$@"; else compdef _rnnlab rnnlab; fi
"""
FISH = r"""# fish completion for rnnlab; for this shell: rnnlab completion fish | source
function __rnnlab_complete
    set -l words (commandline -opc)
    $words[1] __complete fish $words[2..-1] (commandline -ct) 2>/dev/null | tail -n +2
end
complete --command rnnlab --no-files --keep-order --arguments '(__rnnlab_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
PLACES = {  # where a shell looks: the variable that names the folder, the usual folder, and the path within
    "bash": ("XDG_DATA_HOME", "~/.local/share", "bash-completion/completions/rnnlab"),
    "zsh": ("ZDOTDIR", "~", ".zfunc/_rnnlab"),
    "fish": ("XDG_CONFIG_HOME", "~/.config", "fish/completions/rnnlab.fish"),
}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", "bash, zsh or fish.")],
    install: Annotated[bool, flag("--install", "Write the script to where the shell looks for it.")] = False,
    lang: options.Lang = None,
) -> None:
    """Print the script by which a shell completes rnnlab's commands.

    Example: rnnlab completion bash --install

    The Tab key then completes verbs, options, models, tasks, data sets, experiments, runs, columns and files. For the
    shell at hand only: eval "$(rnnlab completion bash)" (or zsh), or rnnlab completion fish | source
    """
    if not install:
        print(SCRIPTS[shell], end="")
        return
    import os
    from pathlib import Path

    from rnnlab.core.files import write_atomically

    variable, usual, within = PLACES[shell]
    path = Path(os.environ.get(variable) or usual).expanduser() / within
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, SCRIPTS[shell])
    print(say("{path} is written; new shells complete rnnlab.", path=path))
    if shell == "bash":
        print(say("If they don't (bash-completion isn't installed), add to ~/.bashrc:  source {path}", path=path))
    if shell == "zsh":
        lines = f"fpath+={path.parent}; autoload -Uz compinit; compinit"
        print(say("If they don't, add to ~/.zshrc:  {lines}", lines=lines))
