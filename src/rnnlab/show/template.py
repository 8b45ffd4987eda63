"""The experiment file that `rnnlab new` prints: filled with the defaults, commented from the schema."""

from rnnlab.core.config import Config
from rnnlab.core.toml import toml_value
from rnnlab.core.words import say, translated
from rnnlab.models.base import ARCHITECTURES
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import Forcing, Monitor, Schedule, Training


def experiment_file() -> str:
    """TOML text; every setting of the task and the training is in it."""
    head = [
        say(
            "# An experiment: arms × seeds on one task. Check it with 'rnnlab check FILE', run it with 'rnnlab compare "
            "FILE'."
        ),
        say("# A line that begins with '#' shows a setting that isn't in force; take the '#' away to use it."),
        "",
        'name = "my first comparison"',
        say("seeds = 3  # how many, or a list such as [0, 1, 2]"),
        say(
            "# vary_split = true  # each seed draws its own split, whose luck counts then; take 5 seeds or more, and "
            "no split_seed"
        ),
        say(
            '# match = "parameters"  # models of equal size; or "seconds": of equal training time, with '
            "minutes under [training]"
        ),
    ]
    parts = [
        *(f"{line}\n" for line in head),
        '\n[task]\nkind = "classify"\n',
        _settings(Classify(), skip=("fingerprint",)),
        "\n[training]\n",
        _settings(Training(), skip=("schedule", "forcing", "monitor")),
        "\n[training.schedule]\n",
        _settings(Schedule()),
        "\n[training.forcing]\n",
        _settings(Forcing()),
        "\n[training.monitor]\n",
        _settings(Monitor()),
    ]
    for kind in ("lstm", "textcnn"):
        parts.append(f'\n[arms.{kind}.model]\nkind = "{kind}"\n')
        parts.append(_settings(ARCHITECTURES[kind](), skip=("embedding",)))
        parts.append("# embedding = {width = 50}\n")
    return "".join(parts)


def _settings(config: Config, skip: tuple[str, ...] = ()) -> str:
    lines = []
    for name, field in type(config).model_fields.items():
        if name in skip:
            continue
        value = getattr(config, name)
        comment = f"  # {translated(field.description)}" if field.description else ""
        lines.append(f"# {name} = …{comment}" if value is None else f"{name} = {toml_value(value)}{comment}")
    return "\n".join(lines) + "\n"
