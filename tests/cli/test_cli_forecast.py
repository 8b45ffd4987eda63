"""Asking a forecaster: the next steps of a file, or after each line of standard input."""

from pathlib import Path

import numpy as np
import pytest

import rnnlab as api


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A run, and the file that it learnt from: two channels, an hour per step."""
    folder = tmp_path_factory.mktemp("hours")
    random = np.random.default_rng(0)
    dates = np.datetime64("2024-02-25T00:00:00") + np.arange(200).astype("timedelta64[h]")
    rows = [f"{str(date).replace('T', ' ')},{100 + random.normal():.3f},{random.normal():.3f}" for date in dates]
    file = folder / "hours.csv"
    file.write_text("\n".join(["date,load,heat", *rows]) + "\n")
    run = api.train(str(file), model="gru", task={"horizon": 6, "lookback": 24}, training={"epochs": 1},
                    out=folder / "runs")  # fmt: skip
    return str(run.path), str(file)


def test_a_file_is_continued(trained, rnnlab):
    run, file = trained
    done = rnnlab("predict", run, "--file", file, "-o", "next.csv")
    assert (done.code, done.err) == (0, "next.csv: 6 rows\n")
    lines = Path("next.csv").read_text().splitlines()
    assert lines[0].startswith("date,load,load p10,load p25,load p75,load p90,heat,heat p10")
    assert len(lines) == 1 + 6
    assert lines[1].startswith("2024-03-04 08:00:00,")
    [told] = rnnlab("predict", run, "--file", file, "--json").json_lines()
    assert told["channels"]["load"]["point"][0] == float(lines[1].split(",")[1])
    printed = rnnlab("predict", run, "--file", file).out.splitlines()
    assert [line.split("\t")[0] for line in printed] == [line.split(",")[0] for line in lines]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["a text"], "TEXT: has no meaning for a model that forecasts"),
        (["--top", "2"], "--top: has no meaning"),
        ([], "give what is known of them with --file"),
        (["--stream", "--file", "x.csv", "-o", "y.csv"], "redirect the output"),
        (["--file", "FILE", "-o", "next.xlsx"], "forecasts are written as"),
    ],
)
def test_what_has_no_meaning_is_refused(trained, rnnlab, options, reason):
    run, file = trained
    refused = rnnlab("predict", run, *(file if option == "FILE" else option for option in options))
    assert refused.code == 1
    assert reason in refused.err


def test_each_line_of_standard_input_is_the_next_step(trained, rnnlab):
    run, file = trained
    lines = b"2024-03-04 08:00:00,101,4.5\n102,4\n,\n"
    done = rnnlab("predict", run, "--file", file, "--stream", stdin=lines)
    assert [line.split("\t")[0] for line in done.out.splitlines()] == [
        f"2024-03-04 {hour:02}:00:00" for hour in (9, 10, 11)
    ]
    wrong = rnnlab("predict", run, "--file", file, "--stream", stdin=b"101,4\nmany,4\n")
    assert wrong.code == 1
    assert "standard input, line 2: 'many' is no number" in wrong.err
