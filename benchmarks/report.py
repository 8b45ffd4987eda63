"""How large a report of 500 runs is, how long it takes to write, and how soon a browser shows it.

    python benchmarks/report.py [RUNS]

Without RUNS, 500 runs are made of one real one: 25 learning rates × 20 seeds × 30 epochs. Needs chromium and the
dev extra.
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import rnnlab
from rnnlab.runs.directory import RunDirectory, find_runs

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "show" / "reports"), str(ROOT / "tests" / "browser")]
from browsing import ARGUMENTS, CHROMIUM, drawn  # noqa: E402  after the path
from many_runs import multiply  # noqa: E402
from small_comparisons import compare_small, write_reviews  # noqa: E402

TURNS = 5


def made_up(folder: Path) -> Path:
    compare_small(folder, write_reviews(folder / "reviews.tsv"))
    run = next(run for run in find_runs(folder / "runs") if run.spec()["model"]["kind"] == "gru")
    return multiply(RunDirectory(run.path), folder / "many", arms=25, seeds=20)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        runs = Path(sys.argv[1]) if len(sys.argv) > 1 else made_up(Path(scratch))
        started = time.perf_counter()
        (page,) = rnnlab.write_report(runs, Path(scratch) / "report.html")
        print(f"{len(find_runs(runs))} runs, written in {time.perf_counter() - started:.1f} s, ", end="")
        print(f"{page.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for turn in range(TURNS):
                tab = browser.new_page(viewport={"width": 1280, "height": 900})
                tab.goto(page.as_uri())
                tab.wait_for_selector("main svg .mark-symbol, main svg .mark-line", state="attached")
                seen = tab.evaluate("performance.now()") / 1000
                drawn(tab)
                painted = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
                whole = tab.evaluate("performance.now()") / 1000
                print(f"turn {turn + 1}: text {painted:.2f} s, first chart {seen:.2f} s, all charts {whole:.2f} s")
                tab.close()
            browser.close()


if __name__ == "__main__":
    main()
