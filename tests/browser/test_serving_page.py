"""The page of `rnnlab serve`, in a browser, with a real server behind it."""

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from browsing import DESK, PHONE, TABLET, WIDE, axe, each_value, overflowing
from visiting import ask, serving_process, shown

MEDIUM = {"width": 1024, "height": 800}
NASTY = '<img src=x onerror="window.hacked=1"></textarea><script>window.hacked=1</script> {{7*7}} \' " & \\ great'
TOKEN = "a-token-for-the-tests"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    trained = serving_process.small_models(tmp_path_factory.mktemp("models"))
    columns = serving_process.model_of_columns(tmp_path_factory.mktemp("columns"))
    named = {"reviews": trained["rnn"], "电影": trained["chinese"], "baseline": trained["tfidf"], "columns": columns}
    return [f"{name}={path}" for name, path in named.items()]


@pytest.fixture(scope="module")
def server(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving_process.serving(*models, folder=tmp_path_factory.mktemp("served")) as started:
        yield started


def playwright_error() -> type[Exception]:
    from playwright.sync_api import Error

    return Error


def check_answer(page: Any, server: Any, model: str, text: Any) -> None:
    """The page shows what the server says to a program."""
    (said,) = server.predict(model=model, text=text, explain=True).json()["predictions"]
    assert page.locator("#label").inner_text() == said["label"]
    assert page.locator("#sure").inner_text() == shown(said["probability"])
    assert page.locator("#bars .name").all_inner_texts() == list(said["probabilities"])
    assert page.locator("#bars .percent").all_inner_texts() == [shown(p) for p in said["probabilities"].values()]
    assert page.locator("#tokens .token").all_inner_texts() == [token["text"] for token in said.get("tokens", [])]
    unknown = [token["text"] for token in said.get("tokens", []) if not token.get("known", True)]
    assert page.locator("#tokens .unknown").all_inner_texts() == unknown


def test_an_english_text(visit, server):
    page = visit(server)
    assert page.locator("#nothing").is_visible()
    assert page.evaluate("document.activeElement.id") == "text"
    ask(page, "a great film, truly unheard of")
    check_answer(page, server, "reviews", "a great film, truly unheard of")
    assert page.locator("#nothing").is_hidden()
    assert "of the words are known" in page.locator("#known").inner_text()
    widths = page.locator("#bars .bar").evaluate_all("all => all.map(one => one.style.getPropertyValue('--share'))")
    assert sum(map(float, widths)) == pytest.approx(1)
    page.fill("#text", "")
    page.locator("#nothing").wait_for()
    assert page.locator("#result").is_hidden()


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_field_per_text_column(visit, server, viewport):
    page = visit(server, viewport=viewport)
    page.select_option("#model", "columns")
    assert page.locator("#text").is_hidden()
    assert page.locator("#columns label").all_inner_texts() == ["title", "body"]
    assert page.evaluate("document.activeElement.id") == "column-0"
    page.get_by_label("title").fill("a great film")
    page.get_by_label("body").fill("seen twice")
    with page.expect_response("**/v1/predict") as answered:
        page.press("#column-1", "Enter")
    answered.value.finished()
    page.wait_for_selector("#answer[aria-busy=false]")
    columns = {"title": "a great film", "body": "seen twice"}
    check_answer(page, server, "columns", columns)
    assert '"text":{"title":"a great film","body":"seen twice"}' in page.locator("#request pre code").inner_text()
    assert overflowing(page) == []
    assert axe(page) == []
    page.select_option("#model", "reviews")  # which reads one
    assert page.locator("#columns textarea").count() == 0
    assert page.locator("#text").is_visible()
    ask(page, "a great film")
    check_answer(page, server, "reviews", "a great film")


def test_a_chinese_text(visit, server):
    page = visit(server)
    page.click('[data-language="zh"]')
    assert page.title() == "试用模型"
    page.select_option("#model", "电影")
    ask(page, "第五部电影很好看，很精彩！")
    check_answer(page, server, "电影", "第五部电影很好看，很精彩！")
    assert page.locator("#label").inner_text() == "好"
    assert "模型认识其中" in page.locator("#known").inner_text()
    assert "known" not in page.locator("#known").inner_text()
    assert '{"text":"第五部电影很好看，很精彩！","model":"电影"}' in page.locator("#request pre code").inner_text()


def test_a_baseline(visit, server):
    page = visit(server)
    page.select_option("#model", "baseline")
    ask(page, "an awful film")
    check_answer(page, server, "baseline", "an awful film")


def test_texts_stay_texts(visit, server):
    page = visit(server)
    ask(page, NASTY)
    check_answer(page, server, "reviews", NASTY)
    assert page.evaluate("window.hacked") is None
    assert page.locator("#answer img, #answer script").count() == 0
    words = shlex.split(page.locator("#request pre code").text_content())  # as a shell reads it
    assert words[:2] == ["curl", f"{server.address}/v1/predict"]
    assert json.loads(words[words.index("-d") + 1]) == {"text": NASTY, "model": "reviews"}


def test_asking_while_one_types(visit, server):
    page = visit(server)
    page.clock.install(time=0)  # its timers stand still, however long this machine takes for a key
    page.clock.pause_at(1000)
    page.locator("#text").press_sequentially("a great film")
    assert visit.asked == []
    page.clock.run_for(1000)
    page.wait_for_selector("#result:not([hidden])")
    assert [body["text"] for body in visit.asked] == ["a great film"]  # once, when the keys rest
    page.press("#text", "Shift+Enter")
    page.locator("#text").press_sequentially("dull")
    with page.expect_response("**/v1/predict"):
        page.press("#text", "Enter")  # at once, and not again after the pause
    page.clock.run_for(1000)
    page.wait_for_timeout(100)
    assert [body["text"] for body in visit.asked] == ["a great film", "a great film\ndull"]


def test_letters_of_an_input_method_are_not_sent(visit, server):
    page = visit(server)
    keyboard = page.context.new_cdp_session(page)
    page.focus("#text")
    for letters in ("h", "ha", "hao"):
        keyboard.send("Input.imeSetComposition", {"text": letters, "selectionStart": 3, "selectionEnd": 3})
    page.wait_for_timeout(600)
    assert page.input_value("#text") == "hao"
    assert visit.asked == []
    keyboard.send("Input.insertText", {"text": "好看"})  # chosen
    page.wait_for_selector("#result:not([hidden])")
    assert [body["text"] for body in visit.asked] == ["好看"]


def test_the_last_question_counts(visit, server):
    """An answer that comes late doesn't replace that of a later question."""
    page = visit(server)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route) if "slow" in route.request.post_data else route.continue_()

    page.route("**/v1/predict", hold)
    page.fill("#text", "slow")
    page.press("#text", "Enter")
    page.wait_for_timeout(100)
    ask(page, "a great film")
    assert len(held) == 1
    with suppress(playwright_error()):  # nobody may wait for it any more
        held[0].continue_()
    page.wait_for_timeout(400)
    assert page.locator("#tokens .token").all_inner_texts() == ["a", "great", "film"]


def test_the_card(visit, server):
    page = visit(server)
    with server.client() as client:
        card = client.get("/v1/models").json()["models"][0]["card"]
    facts = page.locator("#facts").inner_text()
    assert shown(card["accuracy"]["mean"]) in facts
    assert f"{card['model']['parameters']:,}" in facts
    assert f"{100 * card['calibration']['ece_after']:.1f} points" in facts
    assert page.locator("#use").inner_text() == card["intended_use"]
    assert page.locator("#limits li").all_inner_texts() == card["limits"]
    page.select_option("#model", "baseline")
    assert "tfidf" in page.locator("#facts").inner_text()


def test_tokens_by_keyboard_and_finger(visit, server):
    page = visit(server, has_touch=True)
    ask(page, "the great film")
    (said,) = server.predict(text="the great film", explain=True).json()["predictions"]
    weights = [f"{'+' if token['weight'] > 0 else '−'}{abs(token['weight']):.3f}" for token in said["tokens"]]
    page.locator("#tokens .token").first.focus()
    assert page.locator("#weight").inner_text() == f"the {weights[0]}"
    page.keyboard.press("ArrowRight")
    assert page.locator("#weight").inner_text() == f"great {weights[1]}"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tokens .token[tabindex='0']").all_inner_texts() == ["the"]
    page.locator("#tokens .token").nth(2).tap()
    assert page.locator("#weight").inner_text() == f"film {weights[2]}"


def test_a_long_text_has_an_answer_without_reasons(visit, server):
    page = visit(server)
    ask(page, "great film " * 300)
    assert visit.asked[-1]["explain"] is False
    assert page.locator("#label").is_visible()
    assert page.locator("#reasons").is_hidden()


def test_refusals_in_words(visit, server):
    page = visit(server, refusals=True)
    ask(page, "a great film")
    ask(page, "x" * 20_001)
    assert "The server doesn’t take this. text: at most 20,000 characters" in page.locator("#trouble").inner_text()
    ask(page, "x" * 1_000_001)
    assert "too long for the server" in page.locator("#trouble").inner_text()
    page.click('[data-language="zh"]')
    assert "内容太长" in page.locator("#trouble").inner_text()
    ask(page, "a great film")
    assert page.locator("#trouble").is_hidden()


@pytest.mark.parametrize(("status", "words"), [(429, "busy"), (503, "in time")])
def test_a_busy_server_is_asked_again(visit, server, status, words):
    page = visit(server, refusals=True)
    body = json.dumps({"error": {"code": "busy", "reason": "wait"}})
    refuse = {"status": status, "body": body, "headers": {"Retry-After": "1"}, "content_type": "application/json"}
    page.route("**/v1/predict", lambda route: route.fulfill(**refuse), times=1)
    ask(page, "a great film")
    assert words in page.locator("#trouble").inner_text()
    page.wait_for_selector("#result:not([hidden])")
    assert page.locator("#trouble").is_hidden()
    assert len(visit.asked) == 2


def test_a_server_that_has_gone(visit, server):
    page = visit(server, refusals=True)
    page.route("**/v1/predict", lambda route: route.abort())
    page.fill("#text", "a great film")
    page.locator("#trouble").wait_for()
    assert "doesn’t answer" in page.locator("#trouble").inner_text()


def test_the_token_is_asked_for_and_kept_nowhere(visit, models, tmp_path):
    with serving_process.serving(models[0], environment={"RNNLAB_TOKEN": TOKEN}, folder=tmp_path) as server:
        page = visit(server, refusals=True)
        assert page.evaluate("document.activeElement.id") == "token"
        assert axe(page) == []
        for token, works in (("wrong-token-wrong-token", False), (TOKEN, True)):
            page.fill("#token", token)
            with page.expect_response("**/v1/models"):
                page.press("#token", "Enter")
            page.wait_for_selector("#facts div" if works else "#token-form:not([hidden])")
        assert page.locator("#token-form").is_hidden()
        ask(page, "a great film")
        assert page.locator("#label").is_visible()
        assert "$RNNLAB_TOKEN" in page.locator("#request pre code").inner_text()
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert TOKEN not in kept + page.content()
        page.reload()
        page.wait_for_selector("#token-form:not([hidden])")
        page.context.close()  # before its server ends


def test_the_policy(visit, server):
    """A script that isn't ours wouldn't run, and nobody may frame the page."""
    page = visit(server, refusals=True)
    with server.client() as client:
        policy = client.get("/").headers["content-security-policy"]
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    ran = page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      document.body.append(script);
      return window.hacked;
    }""")
    assert ran is None
    assert visit.complaints
    assert all("violates the following Content Security Policy" in said for said in visit.complaints)
    visit.complaints.clear()


OTHER_SCREENS = [pytest.param(*way, marks=pytest.mark.long) for way in [(DESK, "light"), (MEDIUM, "dark")]]


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "light"), (TABLET, "dark"), (WIDE, "dark"), *OTHER_SCREENS])
def test_nothing_overflows(visit, server, viewport, scheme):
    page = visit(server, viewport=viewport, color_scheme=scheme)
    assert overflowing(page) == []
    ask(page, "great " * 40 + "W" * 200 + " " + NASTY)
    assert overflowing(page) == []
    page.click('[data-language="zh"]')
    page.select_option("#model", "电影")
    ask(page, "很好看的电影" * 20)
    assert overflowing(page) == []


@pytest.mark.parametrize(("scheme", "viewport"), each_value(["light", "dark"], [PHONE, DESK]))
def test_no_serious_accessibility_fault(visit, server, scheme, viewport):
    page = visit(server, viewport=viewport, color_scheme=scheme, refusals=True, reduced_motion="reduce")
    assert axe(page) == []
    ask(page, "a great film, truly unheard of")
    assert axe(page) == []
    ask(page, "x" * 20_001)
    page.click('[data-language="zh"]')
    assert axe(page) == []


def test_many_labels_are_folded(visit, server):
    page = visit(server)
    probabilities = {f"label {n}": (n + 1) / 210 for n in range(20)}
    answer = {"label": "label 19", "probability": 20 / 210, "probabilities": probabilities, "known": 0.4}
    body = json.dumps({"model": "reviews", "predictions": [answer]})
    page.route("**/v1/predict", lambda route: route.fulfill(body=body, content_type="application/json"))
    ask(page, "a great film")
    assert page.locator("#bars .name").all_inner_texts() == [f"label {n}" for n in range(19, 11, -1)]
    page.get_by_role("button", name="All 20 labels").click()
    assert page.locator("#bars .name").count() == 20
    page.get_by_role("button", name="Fewer labels").click()
    assert page.locator("#bars .name").count() == 8
    assert "don’t rely on the answer" in page.locator("#known").inner_text()
