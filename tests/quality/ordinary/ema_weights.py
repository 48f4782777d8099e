"""A moving average of the weights beside the model, as torch's own AveragedModel keeps it."""

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4))
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)


def step(i):
    opt.zero_grad()
    model(torch.randn(64, 64)).pow(2).mean().backward()
    opt.step()
    average.update_parameters(model)
    if i % 25 == 0:
        with torch.inference_mode():
            average(torch.randn(256, 64))
