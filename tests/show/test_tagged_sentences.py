"""Sentences with their tags as lines of the page."""

import tagger_examples as examples

from rnnlab.comparing.chapters import DisputedSentence, TaggedBy, Tagging
from rnnlab.comparing.tagging import SHOWN_TOKENS
from rnnlab.show.figures.gradients import gradient_figure
from rnnlab.show.pages.report_tables import class_tables, tagging_table
from rnnlab.show.pages.tagged_sentences import Line, Piece, TaggedSentence, tagged_sentences, type_colours


def shown(tokens: str, true: str, said: dict[str, str], scheme: str | None, spaced: bool = True) -> TaggedSentence:
    """Of texts with a space between tokens and between tags."""
    answers = tuple(TaggedBy(arm, tuple(tags.split())) for arm, tags in said.items())
    sentence = DisputedSentence(3, tuple(tokens.split()), tuple(true.split()), answers)
    (found,) = tagged_sentences(Tagging(1, 9, 0, scheme, (), (sentence,), spaced))
    return found


def test_entities_are_right_wrong_or_missed():
    found = shown(
        "王 明 在 北 京 大 学 等",
        "B-PER I-PER O B-ORG I-ORG I-ORG I-ORG O",
        {
            "a": "O O O B-LOC I-LOC O O O",
            "b": "B-PER I-PER O B-ORG I-ORG I-ORG I-ORG O",
            "c": "O O O B-LOC I-LOC O O O",
        },
        "BIO",
        spaced=False,
    )
    true = (Piece("王明", "PER"), Piece("在"), Piece("北京大学", "ORG"), Piece("等"))
    wrong = (Piece("王明", "PER", "missed"), Piece("在"), Piece("北京", "LOC", "wrong"), Piece("大学等"))
    assert found.lines == (Line((), True, true), Line(("b",), True, true), Line(("a", "c"), False, wrong))
    assert (found.row, found.cut, found.spaced) == (3, 0, False)


def test_of_plain_tags_a_line_of_a_model_has_the_wrong_ones():
    found = shown("the saw ran away", "DET NOUN VERB ADV", {"a": "DET VERB VERB ADV"}, None)
    true = (Piece("the", "DET"), Piece("saw", "NOUN"), Piece("ran", "VERB"), Piece("away", "ADV"))
    assert found.lines[0] == Line((), True, true)
    assert found.lines[1] == Line(("a",), False, (Piece("the"), Piece("saw", "VERB", "wrong"), Piece("ran away")))


def test_a_long_sentence_is_cut_and_an_entity_at_the_edge_is_whole():
    long = SHOWN_TOKENS + 20
    tags = ["O"] * long
    tags[SHOWN_TOKENS - 2 : SHOWN_TOKENS + 2] = ["B-ORG", "I-ORG", "I-ORG", "I-ORG"]
    tags[SHOWN_TOKENS + 5] = "B-ORG"
    found = shown("x " * long, " ".join(tags), {"a": " ".join(tags), "b": "O " * long}, "BIO")
    for line in found.lines:
        assert line.pieces[-1].text == "x x x x"
        assert sum(piece.text.count("x") for piece in line.pieces) == SHOWN_TOKENS + 2
    assert found.cut == 20


def test_tags_without_a_type_part_words():
    found = shown("北 京 人", "B E S", {"a": "B E S"}, "BMES", spaced=False)
    assert found.lines[0].pieces == (Piece("北京", "–"), Piece("人", "–"))


def test_the_most_frequent_types_get_the_first_colours():
    found = examples.entities().differences
    colours = type_colours(found)
    assert list(colours) == list(reversed(examples.TYPES))
    assert len(set(colours.values())) == len(examples.TYPES)
    assert type_colours(examples.words().differences) == {}


def test_the_gradient_is_that_of_the_last_tag():
    said = "The answer is the tag of the last token."
    captions = [gradient_figure(of) for of in (examples.words(), examples.examples.chapter())]
    assert [found is not None and said in found.caption.en for found in captions] == [True, False]


def test_the_table_of_taggers_has_what_there_is():
    table = tagging_table(examples.entities(), {})
    assert table is not None
    assert [column.name.en for column in table.columns] == [
        "model",
        "seen tokens, %",
        "unseen tokens, %",
        "whole sentences, %",
        "illegal tags",
    ]
    assert "the scheme BIO" in (table.columns[-1].explained or table.columns[-1].name)["en"]
    assert [cell.text for cell in table.rows[0].cells][1:] == ["95.0", "80.0", "50.0", "1,234.5"]
    plain = tagging_table(examples.words(), {})
    assert plain is not None
    assert len(plain.columns) == 4
    assert tagging_table(examples.examples.chapter(), {}) is None


def test_tables_of_tags_count_tokens_and_those_of_types_entities():
    for chapter, head in ((examples.words(), "test tokens"), (examples.entities(), "entities")):
        for table in class_tables(chapter):
            assert [column.name.en for column in table.columns][1:] == [head, "recall, %", "precision, %", "F1, %"]
