"""What Python passes to a native function is what the function takes: ctypes doesn't notice one argument too many, and
passes it as 32 bits of which the other half is anything."""

import re
from pathlib import Path

import pytest
import torch

from rnnlab import kernels
from rnnlab.kernels.calls import SIGNATURES, call

FOLDER = Path(kernels.__file__).parent
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.[ch]*")))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_of_the_sources(name: str):
    found = re.findall(rf"\b{name}\(([^;{{}}]*?)\)\s*\{{", SOURCES)
    taken = {len([one for one in re.sub(r"<[^<>]*>", "", given).split(",") if one.strip()]) for given in found}
    assert len(SIGNATURES[name]) - 1 in taken


def test_one_argument_too_many_is_refused():
    x = torch.zeros(4)
    with pytest.raises(TypeError, match="gather_gradients takes 6 arguments, and got 7"):
        call("gather_gradients", torch.float32, x, 1, 4, 4, x, x, 1)
