import subprocess
import sys

import numpy as np
import pytest

from rnnlab.core.errors import ConfigError
from rnnlab.data.text import encode_texts, tokenize_all
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import SPECIAL, Vocabulary


def test_jieba_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(ConfigError, match=r"pip install 'rnnlab\[zh\]'"):
        tokenize_all(["好"], Tokenizer("jieba"))


def test_encode_texts_for_prediction():
    vocabulary = Vocabulary((*SPECIAL, "good", "film", "!"))
    values, offsets = encode_texts(["Good film!", "", "a film of films"], Tokenizer("words"), vocabulary)
    assert values.tolist() == [2, 3, 4, 1, 1, 3, 1, 1]
    assert offsets.tolist() == [0, 3, 4, 8]
    assert (values.dtype, offsets.dtype) == (np.int32, np.int64)
    values, offsets = encode_texts(["Good film!", "", "film"], Tokenizer("words"), vocabulary, max_length=2)
    assert values.tolist() == [2, 3, 1, 3]
    assert offsets.tolist() == [0, 2, 3, 4]
    values, offsets = encode_texts([], Tokenizer("chars"), vocabulary)
    assert (values.tolist(), offsets.tolist()) == ([], [0])


def test_the_data_modules_work_without_torch():
    code = "import sys, rnnlab.data.encoded; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
