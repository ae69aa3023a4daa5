import torch
import torch.nn as nn
import torch.nn.functional as F

config = {
    "seed": 17,
    "teacher": {"width": 96, "steps": 100, "lr": 2e-3},
    "student": {"width": 32},
    "distill": {"temperature": 2.0, "alpha": 0.7},
    "training": {
        "per_device_batch_size": 16,
        "gradient_accumulation_steps": 8,
        "learning_rate": 0.2,
        "momentum": 0.9,
        "max_steps": 100,
        "logging_steps": 10,
    },
}

torch.manual_seed(config["seed"])
D_IN, CLASSES = 12, 6
true_net = nn.Sequential(nn.Linear(D_IN, 24), nn.Tanh(), nn.Linear(24, CLASSES))
for p in true_net.parameters():
    p.data.mul_(3.0)


@torch.no_grad()
def draw(n):
    x = torch.randn(n, D_IN)
    return x, true_net(x).argmax(1)


def mlp(width):
    return nn.Sequential(nn.Linear(D_IN, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))


def train_teacher(cfg):
    teacher = mlp(cfg["width"])
    opt = torch.optim.Adam(teacher.parameters(), lr=cfg["lr"])
    for _ in range(cfg["steps"]):
        x, y = draw(256)
        loss = F.cross_entropy(teacher(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return teacher.eval().requires_grad_(False)


def distill_loss(student_logits, teacher_logits, labels, temperature, alpha):
    kd = F.kl_div(
        F.log_softmax(student_logits / temperature, -1),
        F.log_softmax(teacher_logits / temperature, -1),
        reduction="batchmean", log_target=True,
    ) * temperature ** 2
    return alpha * kd + (1 - alpha) * F.cross_entropy(student_logits, labels)


class DistillTrainer:
    def __init__(self, student, teacher, cfg):
        self.student, self.teacher = student, teacher
        self.args = cfg["training"]
        self.kd = cfg["distill"]
        self.optimizer = torch.optim.SGD(student.parameters(), lr=self.args["learning_rate"], momentum=self.args["momentum"])

    def compute_loss(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        return distill_loss(self.student(x), t, y, self.kd["temperature"], self.kd["alpha"])

    def train(self, val):
        accum = self.args["gradient_accumulation_steps"]
        for step in range(1, self.args["max_steps"] + 1):
            logged = 0.0
            self.optimizer.zero_grad()
            for _ in range(accum):
                x, y = draw(self.args["per_device_batch_size"])
                loss = self.compute_loss(x, y)
                loss.backward()
                logged += loss.item() / accum
            self.optimizer.step()
            if step % self.args["logging_steps"] == 0:
                with torch.no_grad():
                    acc = (self.student(val[0]).argmax(1) == val[1]).float().mean().item()
                print({"step": step, "loss": round(logged, 4), "eval_accuracy": round(acc, 4)})


teacher = train_teacher(config["teacher"])
val = draw(2000)
with torch.no_grad():
    print("teacher accuracy", round((teacher(val[0]).argmax(1) == val[1]).float().mean().item(), 4))
DistillTrainer(mlp(config["student"]["width"]), teacher, config).train(val)
