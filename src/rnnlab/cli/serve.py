"""rnnlab serve"""

from typing import TYPE_CHECKING, Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, option
from rnnlab.core.words import say

if TYPE_CHECKING:
    from rnnlab.serving.models import Models


def serve(
    models: Annotated[list[str], argument("MODEL", "Bundles or run directories; NAME=MODEL gives one a name.")],
    port: Annotated[int, option("N", "Port; 0 takes any free one and prints it.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, option("ADDRESS", "Address to listen on; beyond this machine, RNNLAB_TOKEN must be set.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, option("NAME", "Another host name under which the server is asked, for example by a proxy.")
    ] = None,
    batch: Annotated[int, option("N", "Most texts computed together.", min=1, max=65536)] = 1024,
    wait_ms: Annotated[float, option("MS", "Milliseconds that a text waits for others.", min=0, max=1000)] = 3.0,
    queue: Annotated[int, option("N", "Most texts that wait; further ones get status 429.", min=1)] = 4096,
    timeout: Annotated[float, option("S", "Seconds to wait for an answer; then status 503.", min=0.1)] = 30.0,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """Answer over HTTP: JSON for programs, a page for people.

    Example: rnnlab serve reviews.rnnlab --port 8000

    SIGHUP reads the models again; on SIGTERM and Ctrl-C the server answers what was asked, then ends.
    """
    from rnnlab.core.errors import ConfigError

    try:
        from rnnlab.serving.server import serve as run_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "h11", "anyio"):
            raise
        raise ConfigError("serve needs {name}: pip install 'rnnlab[serve]'", name=error.name) from None
    from rnnlab.serving.limits import Limits

    limits = Limits(batch=batch, wait_ms=wait_ms, queue=queue, answer_seconds=timeout)
    run_server(models, host=host, port=port, names=allow_host or (), limits=limits, ready=tell)


def tell(address: str, models: "Models") -> None:
    """Once it listens."""
    import os

    for model in models:
        count = len(model.predictor.labels)
        if model.does == "forecasts":
            steps = model.predictor.forecaster.observed.horizon
            print(say("{name}: {kind}, forecasts {steps} steps", name=model.name, kind=model.kind, steps=steps))
        elif model.writes:
            print(say("{name}: {kind}, a language model", name=model.name, kind=model.kind))
        else:
            print(say("{name}: {kind}, {count} labels", name=model.name, kind=model.kind, count=count))
    token = ' -H "Authorization: Bearer $RNNLAB_TOKEN"' if os.environ.get("RNNLAB_TOKEN") else ""
    print(say("Listening on {address} (a page for people). Ctrl-C ends it. Try:", address=address))
    kind = "-H 'Content-Type: application/json'"
    first = next(iter(models))
    if first.does == "forecasts":
        asked = f"{address}/v1/forecast{token} {kind} -d @-"
        print(f"  jq -Rs '{{csv: .}}' recent.csv | curl {asked}", flush=True)
    elif first.writes:
        print(f"""  curl -N {address}/v1/generate{token} {kind} -d '{{"prompt": "", "stream": true}}'""", flush=True)
    else:
        print(f"""  curl {address}/v1/predict{token} {kind} -d '{{"text": "not good at all"}}'""", flush=True)
