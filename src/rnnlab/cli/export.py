"""rnnlab export"""

from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option


def export(
    model: Annotated[str, argument("MODEL", "A run directory (runs/1f0c…) or a bundle.")],
    output: Annotated[
        str, option("FILE.onnx", "File to write; how texts become ids is written beside it.", "-o", "--output")
    ] = "model.onnx",
    as_json: Annotated[bool, flag("--json", "Print what was written as JSON.")] = False,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """Write a trained model as ONNX, for programs without Python.

    Example: rnnlab export runs/1f0c -o model.onnx

    The file works for any batch size and length. It is written only if ONNX Runtime gives the same answers as
    torch.

    Of a language model or a translator, model.step.onnx beside it writes one token at a time, with the state in
    and out; a translator's model.onnx reads the source alone. That of a forecaster reads windows of series, and
    model.tokenizer.json says how they are made.
    """
    import json

    from rnnlab.use.onnx.writing import export_model

    done = export_model(model, output)
    print(json.dumps(done.to_dict(), ensure_ascii=False, allow_nan=False) if as_json else "\n".join(done.lines()))
