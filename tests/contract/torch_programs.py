"""A program of PyTorch that is recorded: two steps of training, inference, and an eigenvalue problem."""

import torch
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.projection = nn.Linear(32, 96)
        self.normalization = nn.BatchNorm1d(32)
        self.scale = nn.LayerNorm(32)
        self.output = nn.Linear(32, 10)

    def forward(self, tokens):
        embedded = self.scale(self.embedding(tokens))
        query, key, value = (
            part.reshape(*part.shape[:2], 4, 8).transpose(1, 2) for part in self.projection(embedded).chunk(3, -1)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2)
        hidden = self.normalization((attended.reshape(embedded.shape) + embedded).transpose(1, 2))
        return self.output(functional.dropout(hidden, 0.1, self.training).mean(-1))


class Spectrum(nn.Module):
    def forward(self, matrix):
        # Its result is restrided in place.
        image = matrix.reshape(1, 4, 2, 2).contiguous(memory_format=torch.channels_last)
        mean = functional.adaptive_avg_pool2d(image, 1).sum()
        return torch.linalg.eigvals(matrix).abs().sum() + matrix[matrix > 0].sum() + mean


net = Net()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    tokens, labels = torch.randint(0, 100, (4, 16)), torch.randint(0, 10, (4,))
    loss = functional.cross_entropy(net(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    net(tokens)
Spectrum().eval()(torch.eye(4))
