"""The page of `rnnlab serve` for forecasters, in a browser with a real server behind it: a table goes in, a fan comes
out."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import DESK, PHONE, axe, each_value, overflowing
from visiting import serving_process

import rnnlab
from rnnlab.use.forecasting import write_forecasts

LABELS = Path(__file__).parents[1] / "formats" / "v1"
DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  const how = { bubbles: true, cancelable: true, dataTransfer: files };
  const field = document.getElementById("table");
  for (const kind of ["dragenter", "dragover", "drop"]) field.dispatchEvent(new DragEvent(kind, how));
}"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return serving_process.forecasting_models(tmp_path_factory.mktemp("series"))


@pytest.fixture(scope="module")
def server(trained: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    named = (f"hours={trained['gru']}", f"rows={trained['rows']}", f"labels={LABELS}")
    limits = {"body": 20_000}
    with serving_process.serving(*named, limits=limits, folder=tmp_path_factory.mktemp("served")) as started:
        yield started


def table(steps: int = 90) -> str:
    return "\n".join(serving_process.hourly(steps, hole=steps - 5)) + "\n"


def drop(page: Any, text: str, name: str = "recent.csv") -> None:
    with page.expect_response("**/v1/forecast") as answered:
        page.evaluate(DROP, [name, text])
    answered.value.finished()
    page.wait_for_selector("#answer[aria-busy=false]")


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_file_that_is_dropped_becomes_a_fan(visit, server, trained, viewport):
    page = visit(server, viewport=viewport)
    assert "date, load, heat, one step is 1 hour" in page.locator("#needs").inner_text()
    assert page.locator("#text").is_hidden()
    drop(page, table())
    assert page.input_value("#table") == table()
    assert page.locator("#fan .band").count() == 2
    history = page.locator("#fan .history").get_attribute("d")
    assert (history.count("M"), history.count("M") + history.count("L")) == (2, 29)  # a value is missing
    assert page.locator("#fan .point").get_attribute("d").count("L") == 6
    [expected] = rnnlab.load(trained["gru"]).forecast(_written(table()))
    first = page.locator("#figures tbody tr").first
    assert first.locator("th").inner_text() == "2024-02-28 18:00"
    load = [float(cell) for cell in first.locator("td").all_inner_texts()]
    assert load == pytest.approx([expected.values[0, 0, at] for at in (2, 0, 1, 3, 4)], rel=1e-5)
    page.select_option("#of-channel", "heat")
    assert page.locator("#figures thead").inner_text().split() == ["date", "heat", "p10", "p25", "p75", "p90"]
    heat = [float(cell) for cell in first.locator("td").all_inner_texts()]
    assert heat == pytest.approx([expected.values[0, 1, at] for at in (2, 0, 1, 3, 4)], rel=1e-5)
    assert page.locator("#fan").get_attribute("aria-label").startswith("heat: ")
    page.locator("#fan").focus()
    assert page.locator("#pointed-at strong").inner_text() == first.locator("td").first.inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#pointed-at").inner_text().startswith("2024-02-28 17:00 ")


def _written(text: str) -> dict[str, list[Any]]:
    header, *rows = [line.split(",") for line in text.splitlines()]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(header)}
    return {name: [float(v) if v else None for v in c] if name != "date" else c for name, c in columns.items()}


def test_what_is_downloaded_is_what_predict_writes(visit, server, trained, tmp_path):
    two = ["id,date,load,heat", *(f"{name},{line}" for name in ("a", "b,c") for line in table(40).splitlines()[1:])]
    two = [line.replace("b,c", '"b,c"') for line in two]
    (tmp_path / "two.csv").write_text("\n".join(two) + "\n", encoding="utf-8")
    write_forecasts(rnnlab.load(trained["gru"]).forecast(str(tmp_path / "two.csv")), tmp_path / "expected.csv")
    page = visit(server)
    drop(page, "\n".join(two))
    assert page.locator("#of-series option").all_inner_texts() == ["a", "b,c"]
    with page.expect_download() as downloading:
        page.click("#download")
    downloading.value.save_as(tmp_path / "found.csv")
    found, expected = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("found", "expected"))
    assert found[0] == expected[0]
    assert len(found) == len(expected) == 13
    assert found[7].startswith('"b,c",2024-02-26 16:00:00,')
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        ours, theirs = (line.replace('"b,c"', "bc").split(",") for line in (ours, theirs))
        assert ours[:2] == theirs[:2]
        assert [float(v) for v in ours[2:]] == pytest.approx([float(v) for v in theirs[2:]], rel=1e-6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x00\x01PK not a table", "data.csv"),
        ("date,load,heat\n2024-01-01 00:00,1,2\n2024-01-01 01:00,much,2\n", "data.csv:3"),
        ("date,load\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n", "heat"),
        ("<img src=x onerror=alert(1)>,load\n1,2\n3,4\n", "<img"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_as_text(visit, server, text, told):
    page = visit(server, refusals=True)
    drop(page, table())
    assert page.locator("#fan").is_visible()
    drop(page, text)
    assert told in page.locator("#trouble").inner_text()
    assert page.locator("#trouble img").count() == 0
    assert page.locator("#fan").is_hidden()
    assert page.locator("#figures").is_hidden()
    drop(page, table())
    assert page.locator("#trouble").is_hidden()


def test_of_a_long_file_the_end_is_sent(visit, server):
    page = visit(server)
    drop(page, table(2_000))
    lines = page.input_value("#table").splitlines()
    whole = table(2_000).splitlines()
    assert 200 < len(lines) < 600
    assert lines == [whole[0], *whole[1 - len(lines) :]]
    assert f"the last {len(lines) - 1} of 2,000 lines" in page.locator("#shortened").inner_text()
    assert page.locator("#figures tbody th").first.inner_text() == "2024-05-18 08:00"


def test_a_table_may_be_typed_and_another_model_chosen(visit, server):
    page = visit(server)
    page.select_option("#model", "rows")
    page.fill("#table", "S1,S2\n" + "".join(f"{n % 4},{n}\n" for n in range(2)))
    with page.expect_response("**/v1/forecast"):
        page.fill("#table", "value\n" + "".join(f"{50 + n % 4}\n" for n in range(20)))
    page.wait_for_selector("#fan .point")
    assert page.locator("#figures thead").inner_text().split()[:2] == ["step", "value"]
    assert page.locator("#figures tbody th").first.inner_text() == "21"
    command = shlex.split(page.locator("#request pre code").inner_text())
    assert command[:3] == ["jq", "-Rs", '{csv: ., model: "rows"}']
    page.select_option("#model", "labels")
    assert page.locator("#series").is_hidden()
    assert page.locator("#forecast").is_hidden()
    page.fill("#text", "a great film")
    with page.expect_response("**/v1/predict") as answered:
        page.press("#text", "Enter")
    assert json.loads(answered.value.request.post_data)["text"] == "a great film"
    page.wait_for_selector("#result:not([hidden])")


@pytest.mark.parametrize(("language", "scheme", "viewport"), each_value(["en", "zh"], ["light", "dark"], [DESK, PHONE]))
def test_it_can_be_read_by_all(visit, server, language, scheme, viewport):
    page = visit(server, viewport=viewport, color_scheme=scheme)
    page.click(f'[data-language="{language}"]')
    drop(page, table())
    assert axe(page) == []
    assert overflowing(page) == []
    assert page.locator("#download").inner_text() == {"en": "Forecast as CSV", "zh": "下载预测（CSV）"}[language]
    assert {"en": "1 hour", "zh": "1 小时"}[language] in page.locator("#needs").inner_text()
