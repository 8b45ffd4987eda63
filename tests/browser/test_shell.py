"""Every part of a page, as a reader uses it: by mouse, by keyboard, on a phone, on paper, without scripts."""

import json
from typing import Any

import pytest
from browsing import DESK, PHONE, WIDE, axe, drawn, each_value, overflowing
from kitchen import ARMS, FIGURES, LOOK, NASTY, kitchen

MEDIUM = {"width": 1024, "height": 800}


@pytest.fixture(scope="module")
def html() -> str:
    return kitchen()


def count(page: Any, selector: str) -> int:
    return page.locator(selector).count()


def lines_drawn(page: Any, figure: str = "curves") -> int:
    """How many arms a chart shows."""
    return page.locator(f'[data-figure="{figure}"] svg .mark-line path[d*="L"]').count()


def settled(page: Any) -> None:
    """Vega draws what a signal changed in the next frames."""
    page.evaluate(
        "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 60))"
    )


def column(page: Any, number: int) -> list[str]:
    return page.locator(f"#table-section tbody tr > :nth-child({number})").all_inner_texts()


def test_charts_are_drawn_from_the_file_alone(open_page, html):
    page = open_page(html)
    assert count(page, ".chart svg") == len(FIGURES) + 1  # and one in the details, closed
    assert lines_drawn(page) == len(ARMS)
    assert page.evaluate("window.hacked") is None
    assert page.title() == f"Kitchen sink {NASTY}"


@pytest.mark.parametrize("viewport", [PHONE, MEDIUM, WIDE])
def test_nothing_overflows(open_page, html, viewport):
    page = open_page(html, viewport=viewport)
    assert overflowing(page) == []
    page.click('[data-language="zh"]')
    page.click("summary")
    drawn(page)
    assert overflowing(page) == []


@pytest.mark.parametrize(("scheme", "viewport"), each_value(["light", "dark"], [PHONE, DESK]))
def test_no_serious_accessibility_fault(open_page, html, scheme, viewport):
    page = open_page(html, color_scheme=scheme, viewport=viewport)
    assert axe(page) == []
    page.click('[data-language="zh"]')
    page.click("summary")
    page.click(".chip >> nth=0")
    drawn(page)
    assert axe(page) == []


def test_the_language_switch(open_page, html):
    page = open_page(html)
    page.check('[value="loss"]', force=True)
    page.click(".chip >> nth=0")
    assert page.locator("#charts-section h2").inner_text() == "Charts"
    page.click('[data-language="zh"]')
    drawn(page)
    assert page.evaluate("document.documentElement.lang") == "zh"
    assert page.title() == f"大杂烩 {NASTY}"
    assert page.locator("#charts-section h2").inner_text() == "图"
    assert page.locator(".contents").get_attribute("aria-label") == "目录"
    assert page.locator('[data-language="zh"]').get_attribute("aria-pressed") == "true"
    texts = page.locator('[data-figure="curves"] svg text').all_text_contents()
    assert "轮" in texts
    assert "epoch" not in texts
    assert page.is_checked('[value="loss"]')  # what was chosen stays chosen, and drawn
    assert lines_drawn(page) == len(ARMS) - 1
    page.reload()
    drawn(page)
    assert page.evaluate("document.documentElement.lang") == "zh"  # remembered
    page.click('[data-language="en"]')
    drawn(page)
    assert page.title() == f"Kitchen sink {NASTY}"


def test_a_page_opens_in_its_language(open_page):
    page = open_page(kitchen("zh"))
    assert page.locator("#charts-section h2").inner_text() == "图"
    assert "轮" in page.locator('[data-figure="curves"] svg text').all_text_contents()


def test_themes(open_page, html):
    page = open_page(html, color_scheme="dark")

    def colours() -> tuple[str, str]:
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return background, page.locator('[data-figure="curves"] .role-axis-title text').first.get_attribute("fill")

    dark = colours()
    assert dark[0] == "rgb(20, 23, 28)"
    page.click('[data-choose-theme="light"]')
    drawn(page)
    light = colours()
    assert light[0] == "rgb(255, 255, 255)"
    assert light[1] != dark[1]
    page.reload()
    drawn(page)
    assert colours() == light
    page.click('[data-choose-theme="auto"]')
    drawn(page)
    assert colours() == dark
    page.emulate_media(color_scheme="light")
    page.wait_for_function("getComputedStyle(document.body).backgroundColor == 'rgb(255, 255, 255)'")
    drawn(page)
    assert colours() == light


def test_the_table_sorts_by_value(open_page, html):
    page = open_page(html)
    before = column(page, 1)
    accuracy = page.locator("#table-section thead th").nth(1)
    accuracy.locator("button").click()
    assert accuracy.get_attribute("aria-sort") == "descending"
    assert column(page, 2) == ["92.5 %", "91.0 %", "90.1 %", "8.0 %"]
    accuracy.locator("button").press("Enter")
    assert accuracy.get_attribute("aria-sort") == "ascending"
    assert column(page, 2) == ["8.0 %", "90.1 %", "91.0 %", "92.5 %"]
    seconds = page.locator("#table-section thead th").nth(2)
    for expected in (["2 min", "9.5 s", "0.3 s", ""], ["0.3 s", "9.5 s", "2 min", ""]):  # what has no value comes last
        seconds.locator("button").click()
        assert column(page, 3) == expected
    assert accuracy.get_attribute("aria-sort") == "none"
    page.locator("#table-section thead th button").first.click()
    names = column(page, 1)
    assert sorted(names) == sorted(before)
    assert [name.split()[0] for name in names] == ["</script><script>window.hacked", "bag", "gru", "lstm"]


def test_explanations_by_mouse_keyboard_and_finger(open_page, html):
    page = open_page(html, has_touch=True)
    tip, head = page.locator("#tip"), page.locator(".sort[data-tip]").first
    assert tip.is_hidden()
    head.hover()
    assert tip.inner_text() == "Right answers on the test rows."
    page.mouse.move(5, 5)
    tip.wait_for(state="hidden")
    head.focus()
    assert tip.is_visible()
    assert head.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.keyboard.press("Tab")
    assert tip.inner_text() == f"Training. {NASTY}"
    page.click('[data-language="zh"]')
    page.locator(".hint").first.tap()
    assert tip.inner_text() == "它的意思。"
    page.locator("#charts-section h2").tap()
    assert tip.is_hidden()


def test_tokens_by_keyboard(open_page, html):
    page = open_page(html)
    assert page.locator(".token").all_inner_texts() == [token.text for token in LOOK.tokens]
    page.locator(".token").first.focus()
    assert page.locator("#tip").inner_text() == "-0.800"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() == "+1.200"
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() == "+0.000 · unknown to the model"
    shades = page.locator(".token").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert shades[0].startswith("rgba(31, 104, 190, 0.33")  # two thirds of the strongest, against
    assert shades[2] == "rgba(214, 39, 40, 0.5)"


def test_the_legend_switches_arms(open_page, html):
    page = open_page(html)
    chips = page.locator(".chip")
    chips.nth(0).click()
    settled(page)
    assert chips.nth(0).get_attribute("aria-pressed") == "false"
    assert lines_drawn(page) == len(ARMS) - 1
    assert lines_drawn(page, "folded") == len(ARMS) - 1  # all charts that have arms
    chips.nth(2).press("Space")  # the one whose name is a script
    settled(page)
    assert lines_drawn(page) == len(ARMS) - 2
    page.click('[data-arms="none"]')
    settled(page)
    assert lines_drawn(page) == 0
    chips.nth(1).dblclick()
    settled(page)
    assert [chip.get_attribute("aria-pressed") for chip in chips.all()] == ["false", "true", "false"]
    assert lines_drawn(page) == 1
    page.click('[data-arms="all"]')
    settled(page)
    assert lines_drawn(page) == len(ARMS)


def test_controls_set_parameters(open_page, html):
    page = open_page(html)
    path = page.locator('[data-figure="curves"] .mark-line path').first
    before = path.get_attribute("d")
    page.get_by_text("loss", exact=True).click()
    settled(page)
    assert path.get_attribute("d") != before
    bars = page.locator('[data-figure="wide-bars"] .mark-rect path')
    assert bars.count() == 5
    page.select_option("select", label="a")  # an arm without rows
    settled(page)
    assert bars.count() == 0
    page.select_option("select", value=NASTY)
    settled(page)
    assert bars.count() == 5


def test_saving_and_copying(open_page, html, tmp_path):
    page = open_page(html, permissions=["clipboard-read", "clipboard-write"])
    with page.expect_download() as waiting:
        page.click("[data-download]")
    assert waiting.value.suggested_filename == "spec.json"
    waiting.value.save_as(tmp_path / "spec.json")
    assert (tmp_path / "spec.json").read_text(encoding="utf-8") == NASTY
    page.click("[data-copy]")
    page.locator("[data-copy]", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"rnnlab compare reviews.csv --seeds 3  # {NASTY}"
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.click(f'#figure-curves [data-export="{kind}"]')
        waiting.value.save_as(tmp_path / f"chart.{kind}")
        assert (tmp_path / f"chart.{kind}").read_bytes().startswith(start)


def test_on_paper(open_page, html, tmp_path):
    page = open_page(html, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for selector in (".top", ".contents", ".controls", ".exports", "[data-copy]"):
        assert page.locator(selector).first.is_hidden(), selector
    title = page.locator('[data-figure="curves"] .role-axis-title text').first
    assert title.evaluate("one => getComputedStyle(one).fill") == "rgb(27, 31, 36)"  # though drawn for a dark page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details").get_attribute("open") is not None
    assert page.locator('[data-figure="folded"] svg').is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details").get_attribute("open") is None
    page.set_viewport_size({"width": 718, "height": 1000})  # the width of A4 between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    page.add_style_tag(content=".chart { display: none }")
    assert len(page.pdf(format="A4")) < len(printed)  # the charts were on it


def test_without_scripts(open_page, html):
    page = open_page(html, script=False)
    assert page.locator("#charts-section h2").inner_text() == "Charts"
    assert page.locator(".chart").first.inner_text().strip() == "This chart needs JavaScript."
    assert column(page, 2) == ["91.0 %", "92.5 %", "8.0 %", "90.1 %"]
    assert page.locator(".switches").is_hidden()


def test_a_text_that_got_out_would_still_not_run(open_page, html):
    """The policy lets the page's own scripts run, and no others."""
    page = open_page(html)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        window.refused = new Promise(
            done => addEventListener("securitypolicyviolation", event => done(event.effectiveDirective)));
        document.body.append(script);
    }""")
    assert page.evaluate("window.refused") == "script-src-elem"
    assert "Content Security Policy" in open_page.complaints.pop()
    assert page.evaluate("window.hacked") is None


def test_boxes_that_scroll_can_be_reached(open_page, html):
    page = open_page(html, viewport=PHONE)
    wide = page.locator('[data-figure="wide-bars"]')
    assert wide.get_attribute("tabindex") == "0"
    assert wide.get_attribute("role") == "region"
    assert page.locator('[data-figure="curves"]').get_attribute("tabindex") is None
    page.set_viewport_size(WIDE)
    page.wait_for_function("""() => !document.querySelector('[data-figure="wide-bars"]').hasAttribute("tabindex")""")


def test_the_charts_in_the_page_are_those_of_its_parts(html):
    start = html.index('id="charts">') + len('id="charts">')
    stored = json.loads(html[start : html.index("</script>", start)])
    assert set(stored["figures"]) == {"curves", "wide-bars", "folded"}
    assert len(stored["datasets"]) == 1  # three charts in two languages, one set of rows
