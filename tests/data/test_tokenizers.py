import itertools
import json
import re
from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import ConfigError, RunError
from rnnlab.data import text as text_module
from rnnlab.data.text import tokenize_all
from rnnlab.data.tokenizers import VERSION, Tokenizer, choose_tokenizer, describe_scripts, scripts

laws = settings(derandomize=True, deadline=None, max_examples=100)
PIECES = (
    ("don't", "isn't", "it's", "we’re", "o'neil", "n't", "'s", "'", "``", "''", "-LRB-", "\\/", "well-made", "cannot")
    + ("8/10", "1,000.5", "U.S.", "…", "..", "--", "-", "_", "!?", "<br />", "<BR/>", "<", "\x85", "\u200b", "\u3000")
    + ("很", "好，3D", "👍🏽", "❤️", "🇨🇳", "é", "e\u0301", "İ", "ΟΔΟΣ", "हिन्दी", "\ud800", " ")
)
texts = st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=8).map("".join)

# If a line here has to change, the rules have: raise VERSION in tokenizers.py, and GOLDEN_VERSION here with it.
GOLDEN_VERSION = "1"
GOLDEN_WORDS = [
    ("It isn't a well-made film; don't!", "it is n't a well-made film ; do n't !"),
    ("I can't, won't, ain't.", "i ca n't , wo n't , ai n't ."),
    ("does n't ca n't it 's", "does n't ca n't it 's"),
    ("couldn't've so-doesn't", "could n't 've so-does n't"),
    ("She's we're I've they'll I'd I'm", "she 's we 're i 've they 'll i 'd i 'm"),
    ("I’m sure we’ve… “great”", "i 'm sure we 've ... \" great \""),
    ("O'Fallon's rock'n'roll C'mon dogs' 'quoted'", "o'fallon 's rock'n'roll c'mon dogs ' ' quoted '"),
    ("8/10!!! 10,000 1.5 7:30pm 90-minute 21st", "8/10 ! ! ! 10,000 1.5 7:30 pm 90-minute 21st"),
    ("What?! wow.. a--b ---- x—y", "what ? ! wow ... a -- b -- x -- y"),
    ("The U.S. and E.T. end.Next", "the u.s. and e.t. end . next"),
    ("great<br /><br />Really?<BR>yes", "great really ? yes"),
    ("-LRB- hi -RRB- writer\\/director `` x '' \\*", '( hi ) writer / director " x " *'),
    ("50% $5 #1 AT&T foo_bar", "50 % $ 5 # 1 at & t foo _ bar"),
    ("3D打印 我爱NLP，很好！", "3d 打 印 我 爱 nlp ， 很 好 ！"),
    ("café e\u0301te\u0301 हिन्दी भाषा। 한국어 Ünï", "café e\u0301te\u0301 हिन्दी भाषा । 한국어 ünï"),
    ("👍🏽❤️ 👨‍👩‍👧 🇨🇳🇺🇸 :-)", "👍🏽 ❤️ 👨‍👩‍👧 🇨🇳 🇺🇸 : - )"),
    ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
    ("", "<unk>"),
    (" \u200b<br />", "<unk>"),
]


def test_the_golden_table_belongs_to_this_version():
    assert VERSION == GOLDEN_VERSION


@pytest.mark.parametrize(("text", "expected"), GOLDEN_WORDS)
def test_golden_words(text, expected):
    assert Tokenizer("words").tokenize(text) == expected.split()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("chars", " 卡佩罗：A b\t\n c ", list("卡佩罗：a b c")),
        ("chars", "e\u0301ﬁ", ["e", "\u0301", "ﬁ"]),
        ("chars", " \n", ["<unk>"]),
        ("whitespace", " Don't,  stop!\u3000好 ", ["don't,", "stop!", "好"]),
        ("whitespace", "", ["<unk>"]),
        ("jieba", "我爱北京天安门 GPU", ["我", "爱", "北京", "天安门", "gpu"]),
        ("jieba", " ", ["<unk>"]),
    ],
)
def test_golden_others(name, text, expected):
    assert Tokenizer(name).tokenize(text) == expected


def test_case_is_kept_on_request():
    assert Tokenizer("words", lowercase=False).tokenize("I DON'T<BR>Know") == ["I", "DO", "N'T", "Know"]


@pytest.mark.parametrize("name", ["words", "chars", "whitespace", "jieba"])
@laws
@given(st.lists(texts, max_size=6), st.booleans())
def test_all_at_once_equals_one_by_one(name, rows, lowercase):
    tokenizer = Tokenizer(name, lowercase)
    done = tokenize_all(rows, tokenizer)
    assert done.values.dtype == np.int32
    assert done.lengths.tolist() == np.diff(done.offsets).tolist()
    assert done.offsets.dtype == np.int64
    found = [[done.tokens[i] for i in done.values[a:b]] for a, b in zip(done.offsets, done.offsets[1:], strict=False)]
    assert found == [tokenizer.tokenize(text) for text in rows]
    assert all(found)


@pytest.mark.parametrize("name", ["words", "chars", "whitespace", "jieba"])
@laws
@given(st.lists(texts, max_size=9), st.sampled_from([None, 1, 3]), st.integers(1, 12))
def test_blocks_and_cuts_leave_the_tokens_as_they_are(name, rows, most, block):
    tokenizer = Tokenizer(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "BLOCK", block)
        done = tokenize_all(iter(rows), tokenizer, most)
        counts = text_module.count_values(done.values, len(done.tokens))
    found = [[done.tokens[i] for i in done.values[a:b]] for a, b in itertools.pairwise(done.offsets)]
    expected = [tokenizer.tokenize(text) for text in rows]
    assert found == [tokens[:most] for tokens in expected]
    assert done.lengths.tolist() == list(map(len, expected))
    assert counts.tolist() == [done.values.tolist().count(number) for number in range(len(done.tokens))]


@laws
@given(texts)
def test_tokenised_text_stays_as_it_is(text):
    tokens = Tokenizer("words").tokenize(text)
    if tokens != ["<unk>"]:
        assert Tokenizer("words").tokenize(" ".join(tokens)) == tokens


def test_a_tokenizer_survives_json_and_refuses_another_version():
    tokenizer = Tokenizer("jieba", lowercase=False)
    assert tokenizer.version == f"{VERSION}+rjieba-{version('rjieba')}"
    assert Tokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict()))) == tokenizer
    with pytest.raises(RunError, match=r"version 0 of the tokenizer 'words'.*train it again"):
        Tokenizer.from_dict({"name": "words", "lowercase": True, "version": "0"})
    with pytest.raises(RunError, match=r"pip install rjieba==0\.0\.1"):
        Tokenizer.from_dict({"name": "jieba", "lowercase": True, "version": f"{VERSION}+rjieba-0.0.1"})


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(ConfigError, match=r"unknown tokenizer 'word'; did you mean 'words'\?"):
        Tokenizer("word")


@pytest.mark.parametrize(
    ("rows", "name", "reason", "script"),
    [
        (["A fine film.", "Not bad"], "words", "separated by spaces", "Latin"),
        (["这部电影很好看", "不好"], "chars", "100 % of the letters", "Chinese"),
        (["これは映画です", "日本語の本"], "chars", "100 %", "Japanese"),
        (["좋은 영화"], "words", "separated by spaces", "Korean"),
        (["好看 good movie"], "words", "mixed text: 18 %", "Latin 82 %, Chinese 18 %"),
        (["很好看的电影 good"], "chars", "60 %.*single characters too", "Chinese 60 %, Latin 40 %"),
        (["12 34", "!"], "words", "no letters", "no letters"),
    ],
)
def test_the_script_decides(rows, name, reason, script):
    tokenizer, why = choose_tokenizer(rows)
    assert tokenizer.name == name
    assert re.search(reason, why)
    assert describe_scripts(scripts(rows)) == script
