"""What a report shows of forecasters: fans, windows that two arms forecast differently, what is left in the errors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rnnlab.answers.forecast import MASE
from rnnlab.comparing.forecast_windows import ForecastsOf, differing_windows, fans, middle, part_scores, residuals
from rnnlab.comparing.forecasted import Forecasted, forecasted, seasonal_naive
from rnnlab.comparing.records import Record
from rnnlab.core.errors import RnnlabError, english
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences
from rnnlab.training.run import own_process_state
from rnnlab.use.forecasting import Forecaster
from rnnlab.use.stored import open_model

MOST_SECONDS = 60.0  # to forecast all test windows again
AT_A_TIME = 1024  # windows


@own_process_state(threads=1)  # as in training
def forecasts(
    records: Sequence[Record], ours: Record | None, theirs: Record | None, data: EncodedData, remarks: list[str]
) -> Forecasted | None:
    """``ours`` is the run whose forecasts are shown, ``theirs`` one beside it. What can't be told is said in
    ``remarks``."""
    observed, test = data.observed, data.test
    if observed is None:
        return None
    naive = seasonal_naive(test, observed.season)
    found = forecasted(records, test, observed.season, observed.spacing, naive)
    if found is None or ours is None:
        return found
    if ours.result.get("row_seconds", 0.0) * len(test) > MOST_SECONDS:
        remarks.append(
            note("{arm} would take long to forecast all test windows again, so they aren't shown", arm=ours.label)
        )
        return found
    try:
        return _with_forecasts(found, ours, theirs, data, naive)
    except RnnlabError as error:  # the library of a baseline isn't here, say
        remarks.append(note("the forecasts of the test windows can't be made again: {error}", error=english(error)))
        return found


def _with_forecasts(
    found: Forecasted, ours: Record, theirs: Record | None, data: EncodedData, naive: np.ndarray
) -> Forecasted:
    observed, test = data.observed, data.test
    assert observed is not None
    own = forecaster(ours, test)
    points = _points(own, len(test))
    named, spacing = (observed.series, data.labels), observed.spacing
    scores = part_scores(points, naive, test, *named)
    found = replace(
        found,
        ours=ours.label,
        parts=tuple(score for _, score in scores),
        fans=fans(scores, own, test, spacing),
        residuals=residuals(points, test, observed.season),
    )
    if theirs is None:
        return found
    errors = _errors(ours), _errors(theirs)
    differing = differing_windows(errors, (own, forecaster(theirs, test)), test, *named, spacing)
    return replace(found, theirs=theirs.label, differing=differing)


def forecaster(record: Record, test: Sequences) -> ForecastsOf:
    """What a finished run forecasts in test rows, as it did when it was evaluated."""
    model = Forecaster(open_model(record.path))
    return lambda rows: model.of_windows(_some(test, rows))


def _some(test: Sequences, rows: np.ndarray) -> Sequences:
    """Some windows, of the same flat arrays."""
    assert test.series is not None
    return replace(
        test,
        starts=test.starts[rows],
        ends=test.ends[rows],
        groups=test.groups[rows],
        series=test.series[rows],
        origins=None if test.origins is None else test.origins[rows],
    )


def _points(forecasts_of: ForecastsOf, rows: int) -> np.ndarray:
    """(rows, H, C): of all rows, the middle quantiles alone."""
    pieces = np.array_split(np.arange(rows), -(-rows // AT_A_TIME))
    return np.concatenate([middle(forecasts_of(some)) for some in pieces])


def _errors(record: Record) -> np.ndarray:
    """(rows,): the recorded MASE of each test window; NaN where all values are missing."""
    above, below = (np.asarray(record.answers.counts[name], np.float64) for name in MASE.columns)
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
