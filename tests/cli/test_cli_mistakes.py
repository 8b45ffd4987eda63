"""Mistakes of users: exit code 1, a message on standard error that says where, what and what to do, no traceback."""

import pytest

TABLE = "text,label\n"
QUICK = ("--models", "rnn", "--seeds", "1", "--epochs", "1", "--jobs", "0")


def write(**files: str) -> None:
    for name, content in files.items():
        with open(name.replace("_", "."), "w", encoding="utf-8") as file:
            file.write(content)


def rows(number: int, label: str = "") -> str:
    return "".join(f"some words here {n},{label or 'ab'[n % 2]}\n" for n in range(number))


@pytest.fixture(autouse=True)
def _files(reviews_csv):
    write(
        prose_csv="a,b,c\n" + "".join(f"some words here {n},other words there {n},{n % 2}\n" for n in range(20)),
        labels_csv="text,kind,colour\n" + "".join(f"some words here {n},{n % 2},{n % 3}\n" for n in range(20)),
        damaged_csv=TABLE + rows(20) + "one,field,more\n" * 15 + ",no text\n" * 15,
        oneclass_csv=TABLE + rows(9, "same"),
        onerow_csv=TABLE + rows(9, "same") + "a last row,alone\n",
        header_csv=TABLE,
        empty_csv="",
        valid_csv=TABLE + "the great film,good\nthe odd film,strange\n",
        numbers_csv=TABLE + "".join(f"some words here {n},{n / 7}\n" for n in range(80)),
        picture_png="",
        broken_toml="[task\n",
        wrong_toml='seed = 3\nmatch = "seconds"\n[task]\nrow = 100\n[arms.a.model]\nkind = "lstm"\nhiden = 8\n'
        'widths = [2]\n[arms.b.model]\nkind = "transformer"\nheads = 5\n[arms.c.model]\nkind = "lstmm"\n',
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "reveiws.csv"),
        ("compare", "imbd"),
        ("compare", "nowhere.toml"),
        ("compare", "broken.toml"),
        ("check", "wrong.toml"),
        ("check", "reviews.csv"),
        ("compare", "picture.png"),
        ("compare", "reviews.csv", "--models", "lstmm"),
        ("compare", "reviews.csv", "--models", "rnn,textcnn", "--set", "model.hidden=8"),
        ("compare", "reviews.csv", *QUICK, "--set", "model.hiden=8"),
        ("compare", "reviews.csv", *QUICK, "--set", "model.widths=[2, 3]"),
        ("compare", "reviews.csv", "--models", "transformer", "--set", "model.heads=5"),
        ("compare", "reviews.csv", *QUICK, "--set", "modle.hidden=8"),
        ("compare", "reviews.csv", *QUICK, "--set", "arms.lstm.model.hidden=8"),
        ("compare", "reviews.csv", *QUICK, "--set", "training.lr"),
        ("compare", "reviews.csv", *QUICK, "--set", "training.lr=-1"),
        ("compare", "reviews.csv", *QUICK, "--set", "training.momentum=0.9"),
        ("compare", "reviews.csv", *QUICK, "--match", "parameter"),
        ("compare", "reviews.csv", *QUICK, "--match", "seconds"),
        ("compare", "reviews.csv", *QUICK, "--match", "seconds", "--minutes", "1", "--set", "training.schedule=cosine"),
        ("compare", "reviews.csv", *QUICK, "--vary-split", "--test", "valid.csv"),
        ("compare", "reviews.csv", *QUICK, "--vary-split", "--set", "task.split_seed=1"),
        ("compare", "imdb", *QUICK, "--vary-split"),
        ("compare", "reviews.csv", *QUICK, "--epochs", "0"),
        ("compare", "reviews.csv", *QUICK, "--seeds", "0"),
        ("compare", "reviews.csv", *QUICK, "--tokenizer", "word"),
        ("compare", "reviews.csv", *QUICK, "--language", "zh"),
        ("compare", "reviews.csv", *QUICK, "--text", "txt"),
        ("compare", "reviews.csv", *QUICK, "--group", "writer"),
        ("compare", "reviews.csv", *QUICK, "--vectors", "glove.txt"),
        ("compare", "reviews.csv", *QUICK, "--device", "gpu"),
        ("compare", "reviews.csv", *QUICK, "--valid", "valid.csv"),
        ("compare", "reviews.csv", *QUICK, "--valid", "elsewhere/held-out.csv"),
        ("compare", "prose.csv"),
        ("compare", "labels.csv"),
        ("compare", "damaged.csv"),
        ("compare", "oneclass.csv"),
        ("compare", "onerow.csv"),
        ("compare", "header.csv"),
        ("compare", "empty.csv"),
        ("compare", "numbers.csv"),
        ("compare", "--text", "body"),
        ("train", "reviews.csv", "--model", "lstmm"),
        ("train", "reviews.csv", "--model", "cnn2"),
        ("list", "models", "lsmt"),
        ("list", "tasks", "translatte"),
        ("data", "get", "imbd"),
        ("data", "profile", "prose.csv"),
        ("runs", "nowhere"),
        ("predict", "nowhere", "a text"),
    ],
    ids=" ".join,
)
def test_mistake(rnnlab, snapshot, arguments):
    done = rnnlab(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rnnlab: ")
    assert done.err == snapshot


def test_a_negative_number_of_jobs(rnnlab):
    done = rnnlab("compare", "reviews.csv", *QUICK[:-1], "-1")
    assert done.code == 1
    assert done.err == "rnnlab: --jobs must be 0 (in this process) or more (got -1)\n"


def test_bad_rows_are_listed_up_to_twenty(rnnlab):
    lines = rnnlab("compare", "damaged.csv").err.splitlines()
    assert lines[0] == "rnnlab: damaged.csv: 30 of 50 rows can't be used"
    assert [line.split(":")[1] for line in lines[1:21]] == [str(number) for number in range(22, 42)]
    assert lines[21] == "... and 10 more"
    assert "--skip-bad" in lines[22]


def test_bad_rows_can_be_skipped(rnnlab, small):
    done = rnnlab("compare", "damaged.csv", "--models", "rnn", "--seeds", "1", *small, "--skip-bad", "--json")
    assert done.code == 0, done.err
    profile = done.json()["profile"]
    assert (profile["skipped"], sum(profile["rows"].values())) == (30, 20)


def test_the_message_is_all_there_is(rnnlab):
    """No traceback, no chained exception, whatever command."""
    for arguments in (("compare", "damaged.csv"), ("train", "reviews.csv", "--model", "cnn2"), ("runs", "nowhere")):
        assert "Traceback" not in rnnlab(*arguments).err


def test_a_file_and_options_are_told_the_same(rnnlab):
    settings = ["model.hidden=8", "arms.textcnn.model.widths=[2, 2]", "training.lr=-1", "match=secs"]
    write(e_toml='[task]\ndata = "reviews.csv"\n[arms.textcnn.model]\nkind = "textcnn"\n')
    options = [part for setting in settings for part in ("--set", setting)]
    told = rnnlab("compare", "reviews.csv", "--models", "textcnn", *options).err.splitlines()
    assert told[0] == "rnnlab: reviews.csv: 4 problems"
    assert all(line.startswith("  ") for line in told[1:])  # a line each
    write(
        e_toml='match = "secs"\n[task]\ndata = "reviews.csv"\n[model]\nhidden = 8\n[training]\nlr = -1\n'
        '[arms.textcnn.model]\nkind = "textcnn"\nwidths = [2, 2]\n'
    )
    for verb in ("check", "compare"):
        assert rnnlab(verb, "e.toml").err.splitlines()[1:] == told[1:]
