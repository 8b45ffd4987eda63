"""Charts inside a page: nothing is lost, nothing is stored twice, nothing gets out."""

import json
from collections.abc import Sequence

import altair as alt
import pytest
from pages import drawn_charts

from rnnlab.core.words import LANGUAGES, same, told_in
from rnnlab.show.figures.figure import Figure
from rnnlab.show.pages.embedded_charts import DIGITS, embedded, script_json

ROWS = [{"arm": "</script>", "x": 1 / 3, "n": 2.0}, {"arm": "乙", "x": None, "n": 10**20}]
WORDS = {"en": "share", "zh": "占比"}


def figure(name: str = "one", rows: list | None = None, **chart) -> Figure:
    def draw(language, for_page):
        assert for_page
        data = alt.Data(values=ROWS if rows is None else rows)
        return alt.Chart(data, **chart).mark_bar().encode(x=alt.X("x:Q", title=WORDS[language]), y="arm:N")

    return Figure(name, told_in(en="Title", zh="标题"), same(""), draw, arms=True)


def embed(figures: Sequence[Figure]) -> str:
    return embedded(figures)[0]


def on_a_page(*figures: Figure) -> str:
    return f'<script type="application/json" id="charts">{embed(figures)}</script>'


def test_a_chart_comes_back_whole():
    text = on_a_page(figure(height=100))
    for language in LANGUAGES:
        spec = drawn_charts(text, language)["one"]
        expected = figure(height=100).draw(language, True).to_dict()
        assert spec.pop("description") == figure().title[language]
        rows = spec["data"].pop("values")
        expected["data"].pop("values")
        assert spec == expected
        assert spec["encoding"]["x"]["title"] == WORDS[language]
        assert [list(row) for row in rows] == [list(row) for row in ROWS]
        assert rows[0]["x"] == pytest.approx(1 / 3, rel=10 ** (1 - DIGITS))
        assert [rows[0]["n"], rows[1]["x"], rows[1]["n"]] == [2, None, 10**20]
        assert [row["arm"] for row in rows] == ["</script>", "乙"]


def test_rows_are_stored_once():
    stored = json.loads(embed([figure("one"), figure("two")]))
    assert len(stored["datasets"]) == 1
    assert [figure["arms"] for figure in stored["figures"].values()] == [True, True]
    stored = json.loads(embed([figure("one"), figure("two", [{"arm": "a", "x": 1, "n": 1}])]))
    assert len(stored["datasets"]) == 2


def test_data_of_every_place_is_pulled_out():
    first, second = (alt.Chart(alt.Data(values=[{"a": n}])).mark_point() for n in (1, 2))
    for chart in (first + second, first | second, first & second):
        one = Figure("one", same("t"), same(""), lambda language, for_page, chart=chart: chart)
        stored = json.loads(embed([one]))
        assert len(stored["datasets"]) == 2
        assert '"a":' not in json.dumps(stored["figures"])
        assert '"values"' not in json.dumps(stored["figures"])


def test_rows_of_different_fields_stay_as_they_are():
    for rows in ([{"a": 1}, {"b": [0.1, {"c": 2}]}], [1, 2.5], []):
        text = on_a_page(figure(rows=rows))
        assert drawn_charts(text, "en")["one"]["data"]["values"] == rows


def test_nothing_gets_out_of_a_script_element():
    text = embed([figure()])
    assert "<" not in text
    assert json.loads(script_json("</script>\u2028<!--")) == "</script>\u2028<!--"
    assert not set(script_json("</script>\u2028\u2029<!--")) & set("<\u2028\u2029")


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))


def test_names_are_unique():
    with pytest.raises(ValueError, match="one name"):
        embed([figure("one"), figure("one")])


def test_heights():
    title = alt.TitleParams(text=["a", "b"], subtitle=["c"])
    _, heights = embedded([figure(height=100), figure("titled", height=100, title=title)])
    assert 100 < heights["one"] < heights["titled"] < 250


def test_the_same_figures_give_the_same_text():
    assert embed([figure(), figure("two")]) == embed([figure(), figure("two")])
