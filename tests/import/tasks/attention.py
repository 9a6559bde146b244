import math

import torch
from torch import nn


class Model(nn.Module):
    """Causal attention of several heads."""

    def __init__(self, width, heads, longest):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)


width, heads, length = 32, 4, 50


def get_inputs():
    return [torch.rand(2, length, width)]


def get_init_inputs():
    return [width, heads, 64]
