"""The frame of pages: a policy that fits its scripts, one marked date, both languages."""

import base64
import hashlib
import re
from datetime import UTC, datetime, timedelta, timezone

import jinja2
import pytest
from pages import Outline

from rnnlab.core.words import LANGUAGES, Both, Language, same, told_in
from rnnlab.show.figures.palette import DARK_CONFIG, LIGHT_CONFIG
from rnnlab.show.pages.shell import environment, made, page, print_rules

TEMPLATE = """{% extends "shell.html" %}{% import "macros.html" as ui with context %}
{% block main %}<section id="a"><h2>{{ ui.say(text) }}</h2></section>{% endblock %}"""
DATE = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def small(text: Both | str = "text", language: Language = "en", **settings) -> str:
    title = told_in(en="A title", zh="标题")
    return page(environment().from_string(TEMPLATE), title=title, language=language, text=text, **settings)


def test_the_policy_names_the_scripts_that_run():
    text = small(date=DATE)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"sha256-([^&]*)&#39;", policy[1]) == hashes
    assert len(hashes) == 2  # no Vega where there is no chart
    assert "unsafe-eval" not in policy[1]
    assert policy[1].startswith("default-src &#39;none&#39;;")
    addresses = [
        value for _, attributes in Outline(text).elements for key, value in attributes.items() if key in ("src", "href")
    ]
    assert addresses == ["#main"]


def test_only_the_date_differs(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323040")
    fixed = small()
    assert fixed == small(date=DATE)
    other = small(date=DATE + timedelta(days=1))
    marked = re.compile(r'<time id="made".*?</time>')
    assert other != fixed
    assert marked.sub("", other) == marked.sub("", fixed)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert f"{datetime.now(UTC):%Y-%m-%d}" in marked.findall(small())[0]


def test_the_date_is_said_in_universal_time():
    there = DATE.astimezone(timezone(timedelta(hours=8)))
    assert made(there) == '<time id="made" datetime="2026-01-02T03:04:00Z">2026-01-02 03:04 UTC</time>'


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_languages_are_in_the_page(language):
    outline = Outline(small(told_in(en="<b>one</b>", zh="一"), language))
    assert outline.elements[0] == ("html", {"lang": language, "data-lang": language})
    assert "<b>one</b>" in outline.texts_in("en")
    assert "一" in outline.texts_in("zh")
    assert ("title", "A title" if language == "en" else "标题") in outline.texts


def test_equal_texts_stand_once():
    assert small(same("lstm")).count("<h2>lstm</h2>") == 1
    assert small("<i>").count("<h2>&lt;i&gt;</h2>") == 1


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nobody }}").render()


def test_paper_gets_the_colours_of_the_light_page():
    rules = print_rules(LIGHT_CONFIG, DARK_CONFIG)
    was, becomes = DARK_CONFIG["text"]["color"], LIGHT_CONFIG["text"]["color"]
    assert f'.chart svg [fill="{was}"] {{ fill: {becomes}; }}' in rules
    assert "transparent" not in rules
