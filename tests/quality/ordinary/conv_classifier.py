"""Training of a small convolutional classifier: batch norm, dropout, momentum, a learning rate that falls."""

import torch

torch.set_num_threads(1)

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1),
    torch.nn.BatchNorm2d(16),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(16, 32, 3, padding=1),
    torch.nn.BatchNorm2d(32),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Dropout(0.2),
    torch.nn.Linear(32, 10),
)
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=1000)
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
correct = seen = 0


def step(i):
    global correct, seen
    images, labels = torch.randn(16, 3, 24, 24), torch.randint(10, (16,))
    logits = model(images)
    loss = criterion(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    correct += int((logits.argmax(1) == labels).sum())
    seen += len(labels)
