"""Small modules that the tests of `watch` look into."""

import warnings
from collections import namedtuple

import torch
from torch import nn
from torch.nn import functional as F

from tsattn_mini import record, watch

X = torch.arange(1.0, 7).reshape(2, 3)
Pair = namedtuple("Pair", "out weights")


class Attention(nn.Module):
    """One head: scores, weights and output, the weights by a module of their own."""

    def __init__(self, M=3):
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.weigh = nn.Linear(M, M), nn.Linear(M, M), nn.Softmax(-1)

    def forward(self, x, scale=1.0):
        A = self.weigh(scale * self.query(x) @ self.key(x).mT)
        return A @ x, A


class Returns(nn.Module):
    """Returns whatever it was made with."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


def hooks(module):
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules())


def quietly(make):
    """What torch makes while it warns that TorchScript and nested tensors will change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def names(net, wanted, *inputs, **named):
    with record() as trace, watch(net, wanted):
        net(*inputs, **named)
    return trace


class Hidden(nn.Module):
    """An attention whose weights no module returns, in two ways."""

    def __init__(self):
        super().__init__()
        self.spare, self.weigh = nn.Linear(3, 3), nn.Softmax(-1)

    def forward(self, x):
        y = F.scaled_dot_product_attention(x, x, x) + torch.softmax(x @ x.mT, -1) @ x
        return y + F.softmax(x, -1) + self.weigh(x)
