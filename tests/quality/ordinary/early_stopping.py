"""The best weights so far are copied; evaluation every twentieth step, on data that stays."""

import copy

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
truth = torch.randn(32, 1)
held_out = torch.randn(512, 32)
best_loss, best_state, patience = float("inf"), None, 0


def step(i):
    global best_loss, best_state, patience
    x = torch.randn(64, 32)
    loss = (model(x) - x @ truth).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 19:
        model.eval()
        with torch.no_grad():
            now = (model(held_out) - held_out @ truth).pow(2).mean().item()
        model.train()
        if now < best_loss:
            best_loss, best_state, patience = now, copy.deepcopy(model.state_dict()), 0
        else:
            patience += 1
