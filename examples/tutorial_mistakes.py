"""Models as tutorials write them, wrong in ways that no error shows; and two that are right.

rnnlab audit examples/tutorial_mistakes.py:last_step
rnnlab audit examples/tutorial_mistakes.py:first_and_last --pad-to 500
rnnlab audit examples/tutorial_mistakes.py:max_pooled
rnnlab audit examples/tutorial_mistakes.py:last_step_right
rnnlab audit examples/tutorial_mistakes.py:max_pooled_right
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

WORDS, WIDTH, HIDDEN, CLASSES = 1000, 32, 48, 2
WINDOWS = (3, 4, 5)


class LastStep(nn.Module):
    """Reads ``output[:, -1]``, which is padding for all but the longest text of a batch."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
        self.fc = nn.Linear(HIDDEN, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        output, _ = self.lstm(self.embedding(ids))
        return self.fc(output[:, -1])


class FirstAndLast(nn.Module):
    """Reads the first and the last of 500 steps. The last is padding, and the backward direction comes from there."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.encoder = nn.LSTM(WIDTH, HIDDEN, num_layers=2, bidirectional=True, batch_first=True)
        self.decoder = nn.Linear(4 * HIDDEN, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.encoder(self.embedding(ids))
        return self.decoder(torch.cat([states[:, 0], states[:, -1]], dim=1))


class MaxPooled(nn.Module):
    """TextCNN whose maximum is over the windows in the padding too. Their values are the biases, often the largest."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(WIDTH, HIDDEN, width) for width in WINDOWS)
        self.fc = nn.Linear(3 * HIDDEN, CLASSES)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids).transpose(1, 2)  # (B, D, T)
        return self.fc(torch.cat([torch.relu(convolve(x)).amax(2) for convolve in self.convolutions], dim=1))


class LastStepRight(LastStep):
    """The same weights, packed: the LSTM stops at the end of each text."""

    def forward(self, ids: Tensor) -> Tensor:
        lengths = (ids != 0).sum(1)
        packed = pack_padded_sequence(self.embedding(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (h_n, _) = self.lstm(packed)
        return self.fc(h_n[-1])


class MaxPooledRight(MaxPooled):
    """The same weights; only windows that begin in the text count, and each text has at least one."""

    def forward(self, ids: Tensor) -> Tensor:
        real = ids != 0
        x = self.embedding(ids).transpose(1, 2)
        pooled = []
        for width, convolve in zip(WINDOWS, self.convolutions, strict=True):
            windows = torch.relu(convolve(nn.functional.pad(x, (0, width - 1))))  # as many as steps
            pooled.append(windows.masked_fill(~real[:, None], -torch.inf).amax(2))
        return self.fc(torch.cat(pooled, dim=1))


last_step, first_and_last, max_pooled = LastStep, FirstAndLast, MaxPooled
last_step_right, max_pooled_right = LastStepRight, MaxPooledRight
