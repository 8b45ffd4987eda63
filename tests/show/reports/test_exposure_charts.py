"""What a report shows of exposure bias."""

from pathlib import Path

import rnnlab
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.show.figures.sections import chapter_figures
from rnnlab.show.telling import tell


def test_models_that_read_a_stream_have_curves(tmp_path: Path):
    (tmp_path / "novel.txt").write_text(nested_sentences(700, 1).text, encoding="utf-8")
    result = rnnlab.compare(
        tmp_path / "novel.txt", models=["gru", "rnn"], seeds=1, task={"unit": "words", "block": 150, "context": 20},
        training={"epochs": 1}, settings=["model.hidden=8"], out=tmp_path / "runs", jobs=0,
    )  # fmt: skip
    assert result.folder is not None
    (chapter,) = tell([result.folder]).chapters
    assert chapter.differences.continued is not None
    measured = dict(chapter.differences.continued.exposures)
    assert set(measured) == {"gru", "rnn"}
    figures = {figure.name: figure for figure in chapter_figures(chapter)["continued"]}
    assert {"exposure", "exposure-written"} <= set(figures)
    drawn = figures["exposure"].draw("zh", False).to_dict()
    rows = next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]
    assert len(rows) == 2 * 2 * len(measured["gru"].gap)  # arms, true and own tokens, steps
    written = figures["exposure-written"].draw("en", True).to_dict()
    kinds = {row["k"] for row in written["data"]["values"]}
    assert kinds == {"free", "true"}
