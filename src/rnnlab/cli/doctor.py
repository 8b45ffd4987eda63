"""rnnlab doctor"""

import typer

from rnnlab.cli import options


def doctor(as_json: options.Json = False, lang: options.Lang = None) -> None:
    """Say what works on this machine, what is missing and what to do.

    Example: rnnlab doctor

    Versions, processor, memory, device, which way recurrences are computed, cache, data sets, and what else could be
    installed. Ends with 0 if all that is needed works, with 1 if something is broken.
    """
    import json

    with options.loading():
        from rnnlab.api.doctor import examine

        found = examine()
    print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) if as_json else found)
    if not found.healthy:
        raise typer.Exit(1)
