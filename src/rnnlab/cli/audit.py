"""rnnlab audit"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option
from rnnlab.core.words import both, say

if TYPE_CHECKING:
    from rnnlab.auditing.audit_report import Audit


def audit(
    target: Annotated[
        str | None,
        argument("MODULE:FACTORY", "package.module:factory or path/to/file.py:factory.", show_default=False),
    ] = None,
    forecast: Annotated[
        str | None,
        option("MODULE:FUNCTION", "Instead a forecaster: function(history, horizon) or (series, origins, horizon)."),
    ] = None,
    horizon: Annotated[int | None, option("N", "With --forecast: steps to forecast (12).", min=1)] = None,
    channels: Annotated[int | None, option("C", "With --forecast: series are (steps, C), not (steps,).", min=1)] = None,
    steps: Annotated[int | None, option("N", "With --forecast: length of the series (600).", min=1)] = None,
    vocabulary: Annotated[int | None, option("N", "Number of ids (the rows of its embedding).")] = None,
    features: Annotated[int | None, option("D", "The module takes numbers (B, T, D) instead of ids.")] = None,
    padding_id: Annotated[int | None, option("N", "Id of padding (that of the embedding, or 0).")] = None,
    pad_to: Annotated[int | None, option("N", "Length to which you always pad, if there is one.")] = None,
    lengths: Annotated[str | None, option("A,B,…", "Lengths to try (1,2,3,5,9,14).")] = None,
    call: Annotated[
        str | None,
        option(
            "IDS,…",
            "What forward takes: ids, or ids,lengths or ids,mask (True at real steps) or "
            "ids,padding-mask. By default the names of its parameters decide.",
        ),
    ] = None,
    time_first: Annotated[bool, flag("--time-first", "The module takes (T, B), not (B, T).")] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0)] = 0,
    as_json: options.Json = False,
    lang: options.Lang = None,
) -> None:
    """Check any PyTorch module: does padding change its answers?

    Padding, neighbours and the order of a batch must not change them. Says which law is broken, by how much, at which
    lengths, why, and what to write instead.

    Example: rnnlab audit mypackage.model:factory --vocabulary 1000

    Check any forecaster: does it know what comes after the origin? rnnlab audit --forecast mypackage.model:forecaster

    Ends with 0 if all laws hold, 3 if one is broken or can't be judged. The factory is called without arguments (with
    the vocabulary's size, if it has a parameter like vocab_size). Sequences are padded on the right.
    """
    import contextlib
    import sys

    from rnnlab.auditing.audit import LENGTHS
    from rnnlab.auditing.audit import audit as run_audit
    from rnnlab.auditing.factory import build
    from rnnlab.core.errors import ConfigError

    of_modules = options.given(
        vocabulary=vocabulary, features=features, padding_id=padding_id, pad_to=pad_to, lengths=lengths, call=call,
        time_first=time_first,
    )  # fmt: skip
    of_forecasts = options.given(horizon=horizon, channels=channels, steps=steps)
    if (target is None) == (forecast is None):
        raise typer.BadParameter(say("give either MODULE:FACTORY or --forecast MODULE:FUNCTION"))
    ignored = of_modules if forecast is not None else of_forecasts
    if ignored:
        raise ConfigError(
            "{option} would be ignored: it is for {whom}; leave it out",
            option="--" + next(iter(ignored)).replace("_", "-"),
            whom=both("modules") if forecast is not None else both("forecasters (--forecast)"),
        )
    if forecast is not None:
        from rnnlab.auditing.factory import named
        from rnnlab.auditing.forecast_audit import audit_forecaster

        with contextlib.redirect_stdout(sys.stderr):
            found = audit_forecaster(named(forecast), seed=seed, name=forecast, **of_forecasts)
        return _tell(found, as_json)
    assert target is not None
    chosen = _integers(lengths) if lengths else LENGTHS
    with contextlib.redirect_stdout(sys.stderr):  # whatever the module prints is not the answer
        found = run_audit(
            build(target, vocabulary, seed),
            vocabulary=vocabulary,
            features=features,
            lengths=chosen,
            padding_id=padding_id,
            pad_to=pad_to,
            call=call,
            time_first=time_first,
            seed=seed,
            name=target,
        )
    return _tell(found, as_json)


def _tell(found: "Audit", as_json: bool) -> None:
    print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) if as_json else found)
    if not found.passed:
        raise typer.Exit(3)


def _integers(text: str) -> list[int]:
    """``"1,5,20"`` → ``[1, 5, 20]``."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            say("--lengths: whole numbers separated by commas are needed (got {text!r})", text=text)
        ) from None
