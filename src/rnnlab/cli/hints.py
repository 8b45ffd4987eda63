"""Verbs and options as other tools name them: what is said to someone who types ``rnnlab fit --lr 0.01``."""

import re
import sys
from collections.abc import Sequence
from typing import Any

from rnnlab.core.other_names import normal, paths_of
from rnnlab.core.words import Both, both, same

OTHER_VERBS = {  # ours, and what it is called elsewhere
    "compare": "benchmark bench evaluate eval run classify start",
    "train": "fit learn finetune",
    "compare --tune 12": "tune search optimize hpo",
    "sweep": "grid experiment",
    "reproduce": "claims replicate",
    "predict": "infer inference ask answer test score",
    "pack": "save bundle package",
    "export": "onnx convert",
    "serve": "server api deploy",
    "inspect": "explain look gradients visualize",
    "report": "show plot html dashboard",
    "judge": "verdict stats",
    "runs": "ls history results",
    "new": "init template create",
    "check": "validate lint verify",
    "doctor": "info env diagnose",
    "data profile": "profile describe eda",
    "data get": "download fetch get",
    "data list": "datasets",
    "list models": "models",
    "list tasks": "tasks",
    "--help": "help",
    "--version": "version",
}
OTHER_OPTIONS = {  # those that aren't settings, or that stand for settings of another name
    "--quiet": "silent s no_progress no_progress_bar",
    "--out": "output output_dir out_dir save_dir logdir log_dir runs_dir result_dir workdir",
    "--output": "out output_file outfile save_to to",
    "--jobs": "j n_jobs num_jobs workers num_workers processes parallel cores",
    "--models": "model architecture architectures arch estimator estimators algorithm",
    "--model": "models architecture arch estimator algorithm",
    "--seeds": "seed random_state random_seed repeats runs n_seeds",
    "--seed": "seeds random_state random_seed",
    "--device": "gpu cuda accelerator use_gpu",
    "--valid": "val validation dev val_file eval_file",
    "--report": "html page",
    "--budget": "time time_limit max_time timeout",
    "--minutes": "time time_limit max_time timeout",
    "--tune": "n_trials trials search hpo",
    "--plugin": "plugins module extension",
    "--file": "input input_file csv",
    "--top": "k top_k topk",
    "--yes": "y force no_input assume_yes",
    "--skip-bad": "ignore_errors on_bad_lines skip_errors",
    "--set": "set_option override config overrides",
    "--json": "format as_json",
}


def mistake_hint(error: Any, arguments: Sequence[str] | None = None) -> Both:
    """How that is said here which typer doesn't know; empty if that isn't known."""
    typed = sys.argv[1:] if arguments is None else list(arguments)
    name = getattr(error, "option_name", None)
    if name is not None and "such option" in error.format_message():
        return _option_hint(normal(name.lstrip("-")), name, error, typed)
    found = re.search(r"No such command '([^']*)'", error.format_message())
    for ours, names in OTHER_VERBS.items() if found else ():
        if found and normal(found[1]) in names.split():
            return both("In rnnlab it is: {command}", command=f"rnnlab {ours}")
    return same("")


def _option_hint(name: str, written: str, error: Any, typed: Sequence[str]) -> Both:
    options = {option for param in error.ctx.command.params for option in param.opts} if error.ctx else set()
    value = _value_of(written, typed)
    paths = paths_of(name)
    named = [ours for ours, names in OTHER_OPTIONS.items() if name in names.split()]
    named += [f"--{path.rpartition('.')[2].replace('_', '-')}" for path in paths]
    for option in named:
        if option in options:
            return both("In rnnlab it is: {command}", command=option)
    settable = [path for path in paths if "." in path]
    if settable and "--set" in options:
        return both("In rnnlab it is: {command}", command=f"--set {settable[0]}={value}")
    return same("")


def _value_of(option: str, typed: Sequence[str]) -> str:
    """What was given to an option, to be given again."""
    for number, word in enumerate(typed):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and number + 1 < len(typed) and not typed[number + 1].startswith("-"):
            return typed[number + 1]
    return "…"
