"""A generator and a discriminator, updated in turns."""

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

generator = torch.nn.Sequential(torch.nn.Linear(16, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
critic = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.LeakyReLU(0.2), torch.nn.Linear(128, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_c = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
log = {}


def step(i):
    real, noise = torch.randn(64, 64) * 0.5 + 1, torch.randn(64, 16)
    fake = generator(noise)
    opt_c.zero_grad()
    loss_c = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss_c.backward()
    opt_c.step()
    opt_g.zero_grad()
    loss_g = F.softplus(-critic(fake)).mean()
    loss_g.backward()
    opt_g.step()
    log.update(critic=loss_c.item(), generator=loss_g.item())
