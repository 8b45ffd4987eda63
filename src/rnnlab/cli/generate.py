"""rnnlab generate"""

import json
import sys
from typing import Annotated

from rnnlab.cli import options
from rnnlab.cli.options import argument, flag, option


def generate(
    model: Annotated[str, argument("MODEL", "A run directory of a language model, or a bundle (.rnnlab).")],
    prompts: Annotated[
        list[str] | None, argument("PROMPT", "Texts to be continued; without any, the model begins by itself.")
    ] = None,
    file: Annotated[str | None, option("FILE", "File with a prompt per line.")] = None,
    length: Annotated[int, option("N", "Tokens to write, at most.", min=1)] = 400,
    samples: Annotated[int, option("N", "Texts per prompt.", min=1)] = 1,
    temperature: Annotated[
        float, option("T", "Below 1 the likely tokens are preferred; 0 always takes the likeliest.", min=0)
    ] = 1.0,
    top_k: Annotated[int | None, option("K", "Choose among the K likeliest tokens.", "--top-k", min=1)] = None,
    top_p: Annotated[
        float, option("P", "Choose among the likeliest tokens that have this probability together.", "--top-p")
    ] = 1.0,
    stop: Annotated[list[str] | None, option("TEXT", "End before this text; may be given several times.")] = None,
    seed: Annotated[int, option("N", "What is drawn: the same seed writes the same text.", min=0)] = 0,
    copied: Annotated[
        bool, flag("--copied", "Say after each text how much of it stands verbatim in the training text.")
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print one JSON object per text.")] = False,
    quiet: options.Quiet = False,
    plugin: options.Plugins = None,
    lang: options.Lang = None,
) -> None:
    """Let a language model write, or a translator draw its texts.

    Example: rnnlab generate runs/1f0c "To be" --temperature 0.8 --length 200

    Example: rnnlab generate runs/1f0c --file prompts.txt --samples 3 --json

    Example: rnnlab generate runs/2b7e "How are you?" --temperature 0.7 --samples 3
    """
    with options.loading():
        from rnnlab.core.errors import RunError
        from rnnlab.core.words import say
        from rnnlab.use.copied import copied_text, training_text
        from rnnlab.use.stored import open_model
        from rnnlab.use.translating import Translator, writes_for_texts
        from rnnlab.use.writing import Manner, Sample, Writer

    if file is not None and prompts:
        raise RunError("give prompts or --file, not both")
    if file is not None:
        from rnnlab.data.formats.source import Source

        prompts = [prompt for line in Source.load(file).lines() if (prompt := line.rstrip("\r\n"))]
    stored = open_model(model)
    manner = Manner(temperature, top_k, top_p, seed, tuple(stop or ()))
    if writes_for_texts(stored):
        if not prompts or stop or copied:
            raise RunError(
                "a translator draws texts for those that you give, to their end: leave --stop and --copied out"
            )
        translator = Translator(stored)
        for source in prompts:
            for number, text in enumerate(translator.draw(source, manner, samples=samples, longest=length)):
                told = {"source": source, "text": text, "sample": number}
                print(json.dumps(told, ensure_ascii=False) if as_json else text)
        return
    prompts = prompts or [""]
    writer = Writer(stored)
    trained = training_text(writer.task) if copied else None
    if not quiet:
        for prompt in prompts:
            if unknown := writer.unknown_in(prompt):
                shown = ", ".join(map(repr, unknown[:5]))
                print(say("unknown to the model: {words}", words=shown), file=sys.stderr)
    if len(prompts) == samples == 1 and not as_json:
        print(prompts[0], end="", flush=True)
        for piece in writer.stream(prompts[0], length=length, manner=manner):
            if not isinstance(piece, Sample):
                print(piece, end="", flush=True)
            elif trained is not None:
                print("\n\n" + say("— {copied} —", copied=copied_text(writer, piece.text, trained).sentence), end="")
        print()
        return
    several = len(prompts) * samples > 1
    found = writer.generate(
        prompts, length=length, samples=samples, temperature=temperature, top_k=top_k, top_p=top_p, stop=stop or (),
        seed=seed,
    )  # fmt: skip
    for at, sample in enumerate(found):
        own = None if trained is None else copied_text(writer, sample.text, trained)
        if as_json:
            told = sample.to_dict() | ({} if own is None else {"copied": own.to_dict()})
            print(json.dumps(told, ensure_ascii=False))
            continue
        if several and not quiet:
            print(("\n" if at else "") + say("— sample {number} —", number=sample.number + 1))
        print(sample.prompt + sample.text)
        if own is not None:
            print("\n" + say("— {copied} —", copied=own.sentence))
