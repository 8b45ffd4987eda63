"""The ledger: as Markdown, JSON and on a terminal, in two languages."""

import datetime
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rnnlab.claims.claim import Claim, parse_claims
from rnnlab.claims.judgement import decide
from rnnlab.comparing.studies import Axis, Point, Repeat, Study
from rnnlab.core.config import parse, read_toml
from rnnlab.core.errors import DataError, RnnlabError
from rnnlab.core.words import speaking
from rnnlab.show.pages.ledger import Ledger, escape, load_ledger, markdown, provenance_of, show

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ENVIRONMENT = {
    "rnnlab": "0.1.0",
    "torch": "2.13.0+cpu",
    "python": "3.11.9",
    "machine": "x86_64",
    "system": "Linux",
    "cpu_capability": "AVX512",
    "threads": 1,
}


def run(model: str, seed: int, status: str = "finished") -> Repeat:
    seconds = {"rnn": 7.0, "cnn2": 9.0}[model] + seed / 10
    result = {"epoch_seconds": seconds, "environment": ENVIRONMENT | {"threads": 1 if seed else 2}}
    curve = ({"step": 10, "epoch": 1, "seconds": 30.0}, {"step": 20, "epoch": 2, "seconds": 31.5})
    return Repeat(seed, f"{model}{seed}".ljust(16, "f"), f"runs/{model} {seed}", status, curve, None, result)


STUDY = Study(
    name="rnn vs cnn2",
    about="",
    metric="accuracy",
    lower_is_better=False,
    axes=(Axis("model", ("rnn", "cnn2")),),
    points=tuple(Point({"model": m}, f"model {m}", tuple(run(m, s) for s in (0, 1, 2, 4))) for m in ("rnn", "cnn2")),
)


def claim_of(id: str, **fields: Any) -> Claim:
    sides = {"a": {"model": "rnn"}, "b": {"model": "cnn2"}}
    plain = {"id": id, "says": "RNN is faster.", "document": "000", "study": "rnn vs cnn2", "quantity": "epoch_seconds"}
    return parse(Claim, {**plain, "rule": "< 0", "measure": "ratio", **sides, **fields})


CLAIMS = [
    claim_of("faster", rule="< 1", figure="7.48 s against 9.33 s", says_zh="RNN 更快。"),
    claim_of("slower", rule="> 1"),
    claim_of("by-much", rule="< 0.782"),
    claim_of("hostile", says="a | b *c* <script> [x](y)\n# d", figure="`1` | 2", document="001|x", rule="< 1"),
    claim_of("absent", study="gone", document="001|x"),
]


@pytest.fixture
def ledger() -> Ledger:
    studies = {STUDY.name: STUDY}
    about = provenance_of(
        [STUDY, STUDY],
        commands=["rnnlab reproduce rnn-vs-cnn2"],
        reduced={"rnn-vs-cnn2": "10 epochs instead of 50"},
        date=datetime.date(2026, 1, 2),
    )
    return Ledger(tuple(decide(claim, studies) for claim in CLAIMS), about)


def rows(text: str) -> list[list[str]]:
    """Cells of the tables, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [re.split(r"(?<!\\) \| ", line[2:-2]) for line in lines if "verdict" not in line and "结论" not in line]


def test_the_verdicts(ledger):
    assert [f.verdict for f in ledger.findings] == [
        "supported",
        "contradicted",
        "cannot tell",
        "supported",
        "cannot tell",
    ]
    assert ledger.counts() == {"supported": 2, "contradicted": 1, "cannot tell": 2}


def test_provenance_is_what_the_runs_recorded(ledger):
    about = ledger.provenance
    assert about.runs == 8  # a study given twice counts once
    assert about.seeds == (0, 1, 2, 4)
    assert about.seconds == 8 * 61.5
    assert about.date == "2026-01-02"
    assert [(e["threads"], e["runs"], e["torch"]) for e in about.environments] == [
        (2, 2, "2.13.0+cpu"),
        (1, 6, "2.13.0+cpu"),
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance_of([]).date)


def test_markdown(ledger):
    text = markdown(ledger)
    assert "**5 claims: 2 supported, 1 contradicted, 2 cannot tell.**" in text
    assert re.findall("^## .*", text, re.MULTILINE) == [
        "## Document 000",
        "## Document 001\\|x",
        "## Notes",
        "## What is smaller than in the document",
        "## Commands",
        "## Runs",
    ]
    first = rows(text)[0]
    assert first[:2] == ["RNN is faster. `faster`", "7.48 s against 9.33 s"]
    assert re.fullmatch(r"7\.17 s against 9\.18 s: ×0\.78\d \(0\.77\d to 0\.7[89]\d?\)", first[2])
    assert first[3:] == ["**supported**", "ratio of epoch\\_seconds \\< 1", "4", "[8](#runs-rnn-vs-cnn2)"]
    assert "- 4 claims have an interval" in text
    assert "about 0.2 of these intervals are expected to miss the truth" in text
    assert "8 of them, seeds 0–2, 4, 8 min 12 s of training in all; 2026-01-02." in text
    assert "- 6 runs on x86\\_64 (Linux), CPU capability AVX512, threads per run: 1; torch 2.13.0+cpu" in text
    assert "- **rnn-vs-cnn2**: 10 epochs instead of 50" in text
    assert "```console\nrnnlab reproduce rnn-vs-cnn2\n```" in text
    assert "- by-much: the interval has values on both sides of the rule (\\< 0.782)" in text
    assert "- absent: the study 'gone' has not been run" in text
    assert rows(text)[4][6] == "0"


def test_claims_cannot_break_the_page(ledger):
    text = markdown(ledger)
    assert all(len(cells) == 7 for cells in rows(text))
    hostile = rows(text)[3]
    assert hostile[0] == r"a \| b \*c\* \<script\> \[x\](y) \# d `hostile`"
    assert hostile[1] == r"\`1\` \| 2"
    assert "<script>" not in text.replace("\\<script\\>", "")
    fenced = replace(ledger.provenance, commands=("echo ```\nrnnlab x",))
    assert "\n``````console\necho ``` rnnlab x\n``````\n" in markdown(replace(ledger, provenance=fenced))


def test_every_anchor_has_a_place(ledger):
    text = markdown(ledger)
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert f'<a id="{anchor}"></a>' in text


def test_runs_are_linked_from_where_the_page_stands(ledger):
    assert "- model rnn: seed 0: `rnn0ffff`; seed 1: `rnn1ffff`" in markdown(ledger)
    linked = markdown(ledger, links_from=Path("docs/results"))
    assert "- model rnn: seed 0: [`rnn0ffff`](../../runs/rnn%200); seed 1: " in linked
    gone = replace(STUDY, points=(replace(STUDY.points[0], repeats=(run("rnn", 0, "diverged"),)), *STUDY.points[1:]))
    diverged = replace(ledger, findings=(decide(CLAIMS[0], {STUDY.name: gone}),))
    assert "seed 0: `rnn0ffff` (diverged)" in markdown(diverged)
    with speaking("zh"):
        assert "种子 0：`rnn0ffff`（发散）" in markdown(diverged)


def test_chinese(ledger):
    with speaking("zh"):
        text = markdown(ledger)
    assert "**共 5 条论断：2 条成立，1 条不成立，2 条无法判断。**" in text
    first = rows(text)[0]
    assert first[0] == "RNN 更快。 `faster`"
    assert first[3] == "**成立**"
    assert rows(text)[1][0] == "RNN is faster. `slower`"  # without a translation, the original
    english, chinese = (
        [re.findall(r"\d[\d.]*\d", cells[2]) for cells in rows(page)] for page in (markdown(ledger), text)
    )
    assert english == chinese
    assert "研究“gone”尚未运行" in text


def test_json_and_back(ledger):
    text = ledger.to_json()
    again = load_ledger(text)
    assert again == ledger
    assert again.to_json() == text
    assert markdown(again) == markdown(ledger)
    assert '"sentence": "Supported: ' in text
    assert '"sentence_zh": "成立：' in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1}', '{"format": 1, "provenance": 3}'])
def test_what_is_no_ledger_is_refused(text):
    with pytest.raises(DataError, match=r"not a ledger|format 2; this version"):
        load_ledger(text)


def test_a_ledger_with_a_damaged_claim_is_refused(ledger):
    with pytest.raises(RnnlabError, match="rule"):
        load_ledger(ledger.to_json().replace('"rule": "< 1"', '"rule": "?"'))


@pytest.mark.parametrize(("language", "word"), [("en", "contradicted"), ("zh", "不成立")])
def test_the_terminal_says_it_in_words_and_colour(ledger, language, word):
    out = io.StringIO()
    console = Console(file=out, width=140, force_terminal=True, color_system="standard")
    with speaking(language):
        show(console, ledger)
    assert re.search(rf"\x1b\[31m{word}", out.getvalue())
    plain = Console(file=io.StringIO(), width=140)
    with speaking(language):
        show(plain, ledger)
    text = plain.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    assert word in text
    assert "[x](y)" in text  # nothing is taken for markup
    assert "0.782" in text  # why it can't tell
    assert text.splitlines()[-1].startswith(("5 claims: 2 supported", "共 5 条论断"))


def test_an_empty_ledger():
    empty = Ledger((), provenance_of([], date=datetime.date(2026, 1, 2)))
    assert "**0 claims: 0 supported, 0 contradicted, 0 cannot tell.**" in markdown(empty)
    assert "seeds –" in markdown(empty)
    assert load_ledger(empty.to_json()) == empty
    show(Console(file=io.StringIO()), empty)


def test_claims_judged_by_later_rules_are_named(ledger):
    assert "judged again" not in markdown(ledger)
    about = replace(ledger.provenance, judged_again=("faster", "slower"), judged_before=("absent",))
    later = replace(ledger, provenance=about)
    assert "judged again, from the values that the ledger had recorded: `faster`, `slower`.\n" in markdown(later)
    assert "because the new ones would need values that weren't recorded: `absent`.\n" in markdown(later)
    with speaking("zh"):
        assert "按新规则重新判断：`faster`、`slower`。\n" in markdown(later)
    assert load_ledger(later.to_json()) == later


def test_a_ledger_of_an_earlier_version_is_read(ledger):
    values = json.loads(ledger.to_json())
    for finding in values["findings"]:
        del finding["capped"], finding["counts_b"]
    del values["provenance"]["judged_again"], values["provenance"]["judged_before"]
    assert load_ledger(json.dumps(values)) == ledger


# The ledger of the documents, which stands in docs/


def test_the_documents_ledger_says_one_thing_in_both_files():
    recorded = (DOCS / "ledger.json").read_text(encoding="utf-8")
    ledger = load_ledger(recorded)
    assert ledger.to_json() == recorded
    assert markdown(ledger, links_from=DOCS.relative_to(ROOT)) == (DOCS / "ledger.md").read_text(encoding="utf-8")


def test_the_documents_ledger_has_the_claims_of_the_experiments():
    documents = (ROOT / "experiments").glob("[0-9]*.toml")
    tables = [table for path in documents for table in read_toml(path).get("claim", [])]
    claims = {claim.id: claim for claim in parse_claims(tables)}
    recorded = {f.claim.id: f.claim for f in load_ledger((DOCS / "ledger.json").read_text(encoding="utf-8")).findings}
    assert {id: claims.get(id) for id in recorded} == recorded
    assert claims.keys() - recorded.keys() == {"low-rate-slower"}  # written after the runs, to be judged with the next


def test_escape():
    assert escape("a_b\n\tc | d") == "a\\_b c \\| d"
    assert escape("&lt; $x$ \\") == "\\&lt; \\$x\\$ \\\\"
