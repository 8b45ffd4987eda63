"""A page with every part that pages have, and texts that try to get out of them."""

from datetime import UTC, datetime
from typing import Any

import altair as alt

from rnnlab.comparing.chapters import Look, TokenWeight
from rnnlab.core.words import Language, same, told_in
from rnnlab.show.figures.figure import Control, Figure
from rnnlab.show.pages.shell import environment, page
from rnnlab.show.pages.table import Cell, Column, Row

NASTY = (
    """</script><script>window.hacked = 1</script><img src=x onerror="window.hacked=1">{{ 7 * 7 }}'"&amp;"""
    "javascript:alert(1)"
)
ARMS = {"lstm": "#0072b2", "gru": "#d55e00", NASTY: "#009e73"}
TEMPLATE = """
{% extends "shell.html" %}
{% import "macros.html" as ui with context %}
{% block lead %}<p>{{ ui.say(about) }} {{ ui.hint(term, explanation) }}</p>{% endblock %}
{% block main %}
<section id="charts-section"><h2>{{ ui.say(sections[0][1]) }}</h2>
{{ ui.legend(arms) }}
{% for one in figures_here %}{{ ui.figure(one) }}{% endfor %}
</section>
<section id="table-section"><h2>{{ ui.say(sections[1][1]) }}</h2>
{{ ui.table(columns, rows, sections[1][1]) }}
</section>
<section id="texts"><h2>{{ ui.say(sections[2][1]) }}</h2>
{{ ui.tokens(look) }}
{{ ui.stored("a-spec", nasty) }}{{ ui.download("spec.json", "application/json", "a-spec") }}
{{ ui.copy("rnnlab compare reviews.csv --seeds 3  # " ~ nasty) }}
{% call ui.note("warning") %}<p>{{ ui.say(about) }}</p>{% endcall %}
{% call ui.details(term) %}<p>{{ nasty }}</p>{{ ui.figure(folded) }}{% endcall %}
</section>
{% endblock %}
"""
CURVES = [{"arm": arm, "epoch": e, "seconds": 3 * e, "loss": 1 / (e + n), "accuracy": 1 - 0.5 / (e + n)}
          for n, arm in enumerate(ARMS, 1) for e in range(1, 6)]  # fmt: skip
COLUMNS = (
    Column(told_in(en="model", zh="模型"), number=False),
    Column(
        told_in(en="accuracy", zh="准确率"), told_in(en="Right answers on the test rows.", zh="测试集上答对的比例。")
    ),
    Column(told_in(en="time per epoch", zh="每轮用时"), told_in(en=f"Training. {NASTY}", zh=f"训练。{NASTY}")),
)
ROWS = (
    Row(
        (Cell("lstm"), Cell("91.0 %", 0.91), Cell("9.5 s", 9.5)),
        "recommended",
        told_in(en="recommended", zh="推荐"),
        ARMS["lstm"],
    ),
    Row(
        (Cell("gru"), Cell("92.5 %", 0.925, told_in(en="of 3 runs", zh="3 次运行")), Cell("2 min", 120.0)),
        colour=ARMS["gru"],
    ),
    Row((Cell(NASTY), Cell("8.0 %", 0.08), Cell("", None)), "baseline", colour=ARMS[NASTY]),
    Row(
        (Cell("bag of words"), Cell("90.1 %", 0.901), Cell("0.3 s", 0.3)), "baseline", told_in(en="baseline", zh="基线")
    ),
)
LOOK = Look(
    "good", 0.9, tuple(TokenWeight(text, weight, text != "okapi") for text, weight in
                       (("not", -0.8), ("so", 0.01), ("bad", 1.2), ("okapi", 0.0), (NASTY, 0.4), ("好看", -0.3))), 7
)  # fmt: skip


def curves(language: Language, for_page: bool) -> alt.Chart:
    words = {"en": ("epoch", "value"), "zh": ("轮", "值")}[language]
    return (
        alt.Chart(alt.Data(values=CURVES), width="container", height=240)
        .add_params(alt.param(name="hidden", value=[]), alt.param(name="quantity", value="accuracy"))
        .transform_filter("indexof(hidden, datum.arm) < 0")
        .transform_calculate(shown="datum[quantity]")
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title=words[0]),
            y=alt.Y("shown:Q", title=words[1]),
            color=alt.Color("arm:N", legend=None, scale=alt.Scale(domain=list(ARMS), range=list(ARMS.values()))),
            tooltip=["arm:N", "epoch:Q", "shown:Q"],
        )
    )


def bars(language: Language, for_page: bool) -> alt.Chart:
    title = {"en": "seconds", "zh": "秒"}[language]
    return (
        alt.Chart(alt.Data(values=CURVES), width=900, height=160)
        .add_params(alt.param(name="which", value="lstm"))
        .transform_filter("datum.arm == which")
        .mark_bar()
        .encode(x=alt.X("epoch:O", title=NASTY), y=alt.Y("seconds:Q", title=title))
    )


QUANTITY = Control(
    "quantity",
    told_in(en="Show", zh="显示"),
    (("accuracy", told_in(en="accuracy", zh="准确率")), ("loss", told_in(en="loss", zh="损失"))),
)
WHICH = Control("which", told_in(en="Model", zh="模型"), tuple((arm, same(arm)) for arm in (*ARMS, "a", "b")))
FIGURES = (
    Figure(
        "curves",
        told_in(en="Learning", zh="学习过程"),
        told_in(en="One line per model.", zh="每条线一个模型。"),
        curves,
        (QUANTITY,),
        True,
    ),
    Figure(
        "wide-bars", told_in(en=f"Time {NASTY}", zh=f"时间 {NASTY}"), told_in(en="Wide.", zh="很宽。"), bars, (WHICH,)
    ),
)
FOLDED = Figure(
    "folded", told_in(en="Folded", zh="折叠"), told_in(en="In details.", zh="在折叠处。"), curves, arms=True
)


def kitchen(language: Language = "en") -> str:
    sections = (
        ("charts-section", told_in(en="Charts", zh="图")),
        ("table-section", told_in(en="The table", zh="表")),
        ("texts", told_in(en=f"Texts {NASTY}", zh=f"文本 {NASTY}")),
    )
    context: dict[str, Any] = {
        "about": told_in(en="All parts of a page.", zh="页面的所有部件。"),
        "term": told_in(en="a term", zh="术语"),
        "explanation": told_in(en="What it means.", zh="它的意思。"),
        "arms": ARMS,
        "figures_here": FIGURES,
        "folded": FOLDED,
        "columns": COLUMNS,
        "rows": ROWS,
        "look": LOOK,
        "nasty": NASTY,
    }
    return page(
        environment().from_string(TEMPLATE),
        title=told_in(en=f"Kitchen sink {NASTY}", zh=f"大杂烩 {NASTY}"),
        language=language,
        sections=sections,
        figures=(*FIGURES, FOLDED),
        maker="rnnlab test",
        date=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        **context,
    )
