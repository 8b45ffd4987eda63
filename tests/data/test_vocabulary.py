import json

from rnnlab.data.vocabulary import SPECIAL, UNKNOWN, Vocabulary


def test_vocabulary_order_and_limits():
    tokens = ["b", "a", "rare", "c", "never", "<unk>", "<pad>"]
    counts = [3, 3, 1, 5, 0, 9, 9]
    assert Vocabulary.build(tokens, counts).words == (*SPECIAL, "c", "a", "b", "rare")
    assert Vocabulary.build(tokens, counts, min_count=3).words == (*SPECIAL, "c", "a", "b")
    assert len(Vocabulary.build(tokens, counts, max_size=4)) == 4
    assert Vocabulary.build(tokens, counts, max_size=4).words[2:] == ("c", "a")


def test_vocabulary_encodes_and_survives_json():
    vocabulary = Vocabulary((*SPECIAL, "好", "\ud800", "x"))
    assert vocabulary.encode(["x", "好", "y", "<pad>", "<unk>"]) == [4, 2, UNKNOWN, UNKNOWN, UNKNOWN]
    again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict())))
    assert again == vocabulary
    assert again.digest == vocabulary.digest
    assert Vocabulary((*SPECIAL, "好x")).digest != Vocabulary((*SPECIAL, "好", "x")).digest
