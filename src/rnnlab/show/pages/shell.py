"""What all pages share: templates, styles, scripts, and a policy that lets nothing be fetched."""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from rnnlab.core.words import Both, Language, both, retold
from rnnlab.show.figures.palette import DARK_CONFIG, LIGHT_CONFIG, themed
from rnnlab.show.pages.embedded_charts import embedded, script_json

if TYPE_CHECKING:  # the page of a server has no charts, and need not wait for Altair
    from rnnlab.show.figures.figure import Figure

# The sizes of letters: a page is read from further away than a file.
GUIDES: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
SIZES: dict[str, Any] = {"axis": GUIDES, "legend": GUIDES, "header": GUIDES}


@cache
def environment() -> jinja2.Environment:
    """Every text is escaped; a name that isn't there is an error."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("rnnlab.show.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["script_json"] = lambda value: Markup(script_json(value))
    made.globals["both"] = both
    made.globals["retold"] = retold
    made.tests["both"] = lambda value: isinstance(value, Both)
    return made


def page(
    template: str | jinja2.Template,
    *,
    title: Both,
    language: Language,
    sections: Sequence[tuple[str, Both]] = (),
    figures: "Sequence[Figure]" = (),
    maker: str = "rnnlab",
    date: datetime | None = None,
    **context: Any,
) -> str:
    """A template that extends `shell.html`, filled. ``sections`` are (id, name) of what the navigation leads to,
    ``figures`` all charts of the page, ``maker`` the command that wrote it. Without a date it is now."""
    charts, heights = embedded(figures)
    scripts = [source("shell_head.js"), *([_vega_script()] if figures else []), source("shell.js")]
    return (
        environment()
        .get_template(template)
        .render(
            language=language,
            title=title,
            sections=sections,
            charts=Markup(charts),
            reserved=heights,
            themes=Markup(script_json(chart_configs())),
            style=Markup(source("shell.css") + print_rules(LIGHT_CONFIG, DARK_CONFIG)),
            scripts=[Markup(script) for script in scripts],
            policy=policy(scripts),
            maker=maker,
            made=made(date or now()),
            **context,
        )
    )


def _vega_script() -> str:
    from rnnlab.show.figures.drawing import vega_script

    return vega_script()


def chart_configs() -> dict[str, Any]:
    """What charts take from the page, by theme."""
    both = {"light": LIGHT_CONFIG, "dark": DARK_CONFIG}
    return {name: themed({"config": SIZES}, config)["config"] for name, config in both.items()}


def now() -> datetime:
    """The clock's, or `SOURCE_DATE_EPOCH`, by which a build that is to be repeated sets it."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)


def made(date: datetime) -> Markup:
    """The marked date: the one thing on a page that isn't a function of its content."""
    utc = date.astimezone(UTC)
    return Markup('<time id="made" datetime="{}">{}</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%Y-%m-%d %H:%M UTC")
    )


def policy(scripts: Sequence[str]) -> str:
    """Nothing is fetched, and these scripts run, no others: a text that got out of its place would stay a text.
    Charts need no `unsafe-eval`, since they are drawn with Vega's interpreter (`ast` in shell.js)."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "font-src 'none'; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


@cache
def source(name: str) -> str:
    """A style or script of the templates' folder, as it is."""
    return resources.files("rnnlab.show.pages").joinpath("templates", name).read_text(encoding="utf-8")


def print_rules(light: Mapping[str, Any], dark: Mapping[str, Any]) -> str:
    """Paper is white: a chart drawn for the dark page changes its colours to those of the light one when printed."""
    colours = dict(_colours(light, dark))
    rules = [
        f'.chart svg [{kind}="{was}"] {{ {kind}: {becomes}; }}'
        for was, becomes in colours.items()
        for kind in ("fill", "stroke")
    ]
    return "@media print {\n" + "\n".join(rules) + "\n}\n"


def _colours(light: Any, dark: Any) -> Iterator[tuple[str, str]]:
    """(dark, light) wherever the two differ."""
    if isinstance(light, Mapping) and isinstance(dark, Mapping):
        for key in dark:
            if key in light:
                yield from _colours(light[key], dark[key])
    elif isinstance(dark, str) and isinstance(light, str) and dark.startswith("#") and dark != light:
        yield dark, light
