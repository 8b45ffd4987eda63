"""rnnlab export"""

from typing import Annotated

import typer

from rnnlab.cli import options


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A run directory (runs/1f0c…) or a bundle.")],
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE.onnx", help="The file; how texts become ids goes beside it."),
    ] = "model.onnx",
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
    plugin: options.Plugins = None,
) -> None:
    """Write a trained model as ONNX, for programs without Python.

    Example: rnnlab export runs/1f0c -o model.onnx

    One file for any batch and length. ONNX Runtime has to give torch's answers, or nothing is written.
    """
    import json

    from rnnlab.core.registry import load_plugin
    from rnnlab.use.onnx.writing import export_model

    for path in plugin or []:
        load_plugin(path)
    done = export_model(model, output)
    print(json.dumps(done.to_dict(), ensure_ascii=False, allow_nan=False) if as_json else "\n".join(done.lines()))
