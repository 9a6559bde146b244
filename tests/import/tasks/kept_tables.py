import torch
from torch import nn


class Model(nn.Module):
    """A mask, positions and a number that the module keeps, and running statistics, which are learned."""

    def __init__(self, length, channels):
        super().__init__()
        self.register_buffer("ahead", torch.triu(torch.full((length, length), float("-inf")), diagonal=1)[None])
        self.register_buffer("places", torch.arange(length, dtype=torch.float32)[:, None] * 0.5 - 3)
        self.register_buffer("scale", torch.tensor(0.125))
        self.norm = nn.BatchNorm1d(channels).eval()

    def forward(self, x):
        scores = (x @ x.transpose(1, 2)) * self.scale + self.ahead
        return self.norm((scores.softmax(-1) @ (x + self.places)).transpose(1, 2))


def get_inputs():
    return [torch.rand(5, 48, 10)]


def get_init_inputs():
    return [48, 10]
