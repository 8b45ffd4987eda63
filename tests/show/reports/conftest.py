"""Real comparisons, computed once for all tests that look at their reports."""

import pytest
from corpora import write_bmes, write_conllu, write_pairs
from small_comparisons import (
    HOSTILE,
    TAGS,
    compare_forecast,
    compare_small,
    compare_tagged,
    compare_translated,
    write_load,
    write_reviews,
)

from rnnlab.show.notebook import Result


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two models, two seeds, tags, and baselines."""
    folder = tmp_path_factory.mktemp("compared")
    return compare_small(folder, write_reviews(folder / "reviews.tsv"))


@pytest.fixture(scope="session")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The same with a split for each seed. The first seed is not the one whose runs are the best."""
    folder = tmp_path_factory.mktemp("varied")
    settings = ["seeds=[1, 0]"]
    return compare_small(folder, write_reviews(folder / "reviews.tsv"), vary_split=True, seeds=None, settings=settings)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Labels, tags and texts that are HTML and script; so is the name of the file."""
    folder = tmp_path_factory.mktemp("hostile")
    name = "<b>rows & {{ labels }}.tsv"
    return compare_small(folder, write_reviews(folder / name, (HOSTILE[0], HOSTILE[1]), (TAGS[0], TAGS[1])))


@pytest.fixture(scope="session")
def entities(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Taggers of people and schools."""
    folder = tmp_path_factory.mktemp("entities")
    return compare_tagged(folder, write_bmes(folder / "people.bmes"))


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Taggers of articles, nouns and verbs."""
    folder = tmp_path_factory.mktemp("words")
    return compare_tagged(folder, write_conllu(folder / "corpus.conllu"))


@pytest.fixture(scope="session")
def translators(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """With attention and without, two seeds each, and all baselines."""
    folder = tmp_path_factory.mktemp("translators")
    return compare_translated(folder, write_pairs(folder / "pairs.tsv", 380, clauses=2))


@pytest.fixture(scope="session")
def forecasters(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Of two channels with dates: two networks, two seeds each, and all baselines."""
    folder = tmp_path_factory.mktemp("forecasters")
    return compare_forecast(folder, write_load(folder / "load.csv"))
