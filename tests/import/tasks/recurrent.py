import torch
from torch import nn


class Model(nn.Module):
    """Two recurrent layers, the first from a state drawn on the way."""

    def __init__(self, features, hidden):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(features, hidden, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)

    def forward(self, x):
        state = torch.randn(4, x.shape[0], self.hidden)
        every_step, _ = self.lstm(x, (state, torch.zeros_like(state)))
        _, last = self.gru(every_step)
        return last


def get_inputs():
    return [torch.rand(6, 400, 12)]


def get_init_inputs():
    return [12, 20]
