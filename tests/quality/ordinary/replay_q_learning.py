"""Q-learning on a toy world: a replay deque of 200, sampled at random; a target network that follows slowly."""

import collections
import random

import torch

torch.set_num_threads(1)

net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
target = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
target.load_state_dict(net.state_dict())
opt = torch.optim.Adam(net.parameters())
replay = collections.deque(maxlen=200)
state = torch.randn(8)


def step(i):
    global state
    for _ in range(4):
        action = random.randrange(4) if random.random() < 0.1 else int(net(state).argmax())
        after = torch.randn(8)
        replay.append((state, action, float(after[action]), after))
        state = after
    if len(replay) < 32:
        return
    states, actions, rewards, afters = zip(*random.sample(replay, 32), strict=True)
    with torch.no_grad():
        wanted = torch.tensor(rewards) + 0.9 * target(torch.stack(afters)).amax(1)
    chosen = net(torch.stack(states)).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
    opt.zero_grad()
    torch.nn.functional.smooth_l1_loss(chosen, wanted).backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow.lerp_(fast, 0.01)
