"""Corpora that are made by a rule, so that a small network can learn them; and baselines that learnt from one."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import rnnlab
from rnnlab.models.baselines import BASELINES
from rnnlab.training.run import execute

NOUNS, VERBS = ("cat", "dog", "saw", "house", "Rome"), ("sat", "ran", "saw", "slept")


def write_conllu(path: Path, sentences: int = 120, seed: int = 0) -> Path:
    """'saw' is a noun after an article and a verb after a noun."""
    random, lines = np.random.default_rng(seed), []
    for number in range(sentences):
        rows = []
        for _ in range(random.integers(1, 4)):
            rows += [
                (random.choice(["the", "A"]), "DET"),
                (random.choice(NOUNS), "NOUN"),
                (random.choice(VERBS), "VERB"),
            ]
        lines += [f"# sent_id = {number}"]
        lines += [f"{at}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_" for at, (word, tag) in enumerate(rows, 1)]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_bmes(path: Path, sentences: int = 120, seed: int = 0) -> Path:
    """A surname and one or two characters are a person; the characters before 大学, and these, are a school."""
    random, lines = np.random.default_rng(seed), []
    for _ in range(sentences):
        for _ in range(random.integers(1, 3)):
            given = random.integers(1, 3)
            lines += [(random.choice(list("王李张")), "B-PER")]
            lines += [(c, "M-PER") for c in random.choice(list("小明红军"), given - 1)]
            lines += [(random.choice(list("小明红军")), "E-PER"), ("在", "O")]
            lines += [(random.choice(list("北南东")), "B-ORG"), (random.choice(list("京海方")), "M-ORG")]
            lines += [("大", "M-ORG"), ("学", "E-ORG"), (random.choice(list("读教")), "O"), ("书", "O"), ("。", "O")]
        lines.append(("", ""))
    path.write_text("\n".join(f"{token} {tag}".strip() for token, tag in lines) + "\n", encoding="utf-8")
    return path


def write_pairs(path: Path, rows: int = 160, seed: int = 0, clauses: int = 1) -> Path:
    """Short English sentences and what they are in Chinese, word for word, without a header; of up to so many clauses,
    in turn."""
    random = np.random.default_rng(seed)
    who = {"I": "我", "you": "你", "he": "他", "we": "我们", "they": "他们"}
    does = {"read": "读", "see": "看", "like": "喜欢", "want": "要", "find": "找"}
    what = {"books": "书", "birds": "鸟", "rain": "雨", "tea": "茶", "songs": "歌", "trees": "树"}
    how = {"now": "现在", "here": "这里", "today": "今天", "again": "再"}
    every = [(a, b, c, d) for a in who for b in does for c in what for d in how]
    drawn = random.permutation(len(every)).tolist()[::-1]
    lines = []
    while len(lines) < rows:
        some = [every[drawn.pop()] for _ in range(1 + len(lines) % clauses)]
        read = ", and ".join(f"{a} {b} {c} {d}" for a, b, c, d in some)
        lines.append(f"{read}.\t{'，'.join(who[a] + how[d] + does[b] + what[c] for a, b, c, d in some)}。")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_hours(path: Path, rows: int) -> Path:
    """Two channels by the hour: a day's wave and noise; some values are missing."""
    random = np.random.default_rng(0)
    hours = np.arange(rows)
    load = 10 + 3 * np.sin(hours * 2 * np.pi / 24) + random.normal(scale=0.3, size=rows)
    heat = 20 - 2 * np.cos(hours * 2 * np.pi / 24) + random.normal(scale=0.3, size=rows)
    dates = np.datetime64("2020-01-01T00:00:00") + hours * np.timedelta64(1, "h")
    lines = [f"{date},{one:.3f},{'' if at % 97 == 50 else f'{other:.3f}'}"
             for at, (date, one, other) in enumerate(zip(dates, load, heat, strict=True))]  # fmt: skip
    path.write_text("date,load,heat\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def baseline_beside(run: str | Path, kind: str) -> str:
    """The path of a run of a baseline, on the data of another run; comparing would take all of them."""
    spec = replace(rnnlab.load(run).stored.spec, model=BASELINES[kind](), training=None)
    execute(spec, Path(run).parent, lambda event: None, lambda: False)
    return str(Path(run).parent / spec.digest)
