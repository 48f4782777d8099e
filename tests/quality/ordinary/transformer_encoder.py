"""A transformer encoder of two layers, with a mask, label noise and a clipped gradient."""

import torch

torch.set_num_threads(1)

layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
head = torch.nn.Linear(32, 5)
parameters = [*encoder.parameters(), *head.parameters()]
opt = torch.optim.AdamW(parameters, lr=1e-3)


def step(i):
    x, padded = torch.randn(8, 20, 32), torch.arange(20).expand(8, 20) >= torch.randint(10, 21, (8, 1))
    loss = torch.nn.functional.cross_entropy(
        head(encoder(x, src_key_padding_mask=padded).mean(1)), torch.randint(5, (8,))
    )
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    opt.step()
