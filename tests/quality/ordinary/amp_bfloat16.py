"""Mixed precision on the CPU: the forward pass under autocast, the update in full precision."""

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(
    torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 8)
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step(i):
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(64, 128)).float().pow(2).mean()
    loss.backward()
    opt.step()
