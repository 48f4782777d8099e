"""A student learns from a frozen teacher."""

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

teacher = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).eval()
teacher.requires_grad_(False)
student = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)


def step(i):
    x = torch.randn(128, 64)
    with torch.no_grad():
        wanted = F.softmax(teacher(x) / 2, dim=1)
    loss = F.kl_div(F.log_softmax(student(x) / 2, dim=1), wanted, reduction="batchmean") * 4
    opt.zero_grad()
    loss.backward()
    opt.step()
