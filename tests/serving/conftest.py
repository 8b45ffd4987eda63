"""Small trained models, made once."""

import pytest
from serving_process import small_models, writing_models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of runs: rnn, textcnn, tfidf, majority, chinese."""
    return small_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def writers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of runs of language models: rnn, kneser-ney, unigram."""
    return writing_models(tmp_path_factory.mktemp("writers"))
