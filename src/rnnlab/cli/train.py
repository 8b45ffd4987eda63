"""rnnlab train"""

from typing import Annotated

import typer

from rnnlab.cli import options


def train(
    data: options.Data = None,
    task: options.Task = None,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Which model; 'rnnlab list models'.")] = "lstm",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0)] = 0,
    epochs: options.Epochs = None,
    minutes: options.Minutes = None,
    text: options.Text = None,
    label: options.Label = None,
    group: options.Group = None,
    columns: options.Columns = None,
    valid: options.Valid = None,
    test: options.Test = None,
    skip_bad: options.SkipBad = False,
    tokenizer: options.Tokenizer = None,
    language: options.Language = None,
    rows: options.Rows = None,
    vectors: options.Vectors = None,
    device: options.Device = None,
    settings: options.Settings = None,
    out: options.Out = "runs",
    plugin: options.Plugins = None,
) -> None:
    """Train one model once; its run directory is the model.

    Example: rnnlab train reviews.csv --model gru --set model.hidden=256 --set training.lr=0.002
    """
    from rnnlab.errors import RunsFailed
    from rnnlab.report import terminal
    from rnnlab.sweep.compare import prepare, train_prepared

    screen = terminal.Screen()
    experiment, encoded = prepare(
        data,
        models=[model],
        task=options.given(
            kind=task,
            text=text,
            label=label,
            group=group,
            columns=options.names(columns),
            valid=valid,
            test=test,
            skip_bad=skip_bad,
            tokenizer=tokenizer,
            language=language,
            rows=rows,
        ),
        training=options.given(epochs=epochs, minutes=minutes, device=device),
        vectors=vectors,
        settings=[*(settings or []), f"seeds=[{seed}]"],
        plugins=plugin or [],
    )
    screen.profile(encoded.profile, experiment.notes)
    run = train_prepared(experiment, out=out, plugins=plugin or [], display=screen.live(1))
    screen.run(run)
    if (run.result() or {})["status"] == "diverged":
        raise RunsFailed(f"{model} diverged; {run.path} says where")
