"""``python -m rnnlab.reference first-last`` and ``… addition``: train in numpy alone, and print the progress."""

import argparse
import os
import time


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads only wait for each other
    from rnnlab.reference.examples import LAYERS, train_addition, train_first_and_last  # numpy reads it when imported

    parser = argparse.ArgumentParser(prog="python -m rnnlab.reference", description="Train a network in numpy alone.")
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("first-last", help="is the first element plus the last one above zero?")
    adding = tasks.add_parser("addition", help="add two numbers, digit by digit")
    adding.add_argument("--digits", type=_positive, default=10, help="of each number (10)")
    for task in tasks.choices.values():
        task.add_argument("--layer", choices=LAYERS, default="rnn")
        task.add_argument("--seed", type=int, default=0)
        task.add_argument("--updates", type=_positive, help="at most")
    chosen = parser.parse_args()
    options = {} if chosen.updates is None else {"updates": chosen.updates}
    if chosen.task == "addition":
        progress = train_addition(chosen.layer, digits=chosen.digits, seed=chosen.seed, **options)
    else:
        progress = train_first_and_last(chosen.layer, seed=chosen.seed, **options)
    print("updates     loss  answers right  sequences right  seconds")
    began = time.perf_counter()
    for now in progress:
        spent = time.perf_counter() - began
        print(f"{now.updates:7}  {now.loss:7.4f}  {now.answers:13.4f}  {now.sequences:15.4f}  {spent:7.1f}", flush=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


if __name__ == "__main__":
    main()
