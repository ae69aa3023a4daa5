"""Where a gradient is lost on the way to the loss, with the exact line; and where it is stopped on purpose."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript
from observe.watched import Run

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(4, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.features(x))
        CUT
        return self.head(h)

x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""

FEATURES = {"features.weight", "features.bias"}


def cut_at(run: Run) -> tuple[str, int | None, set[str]]:
    (cut,) = run.loss.cuts
    assert cut.place is not None
    assert cut.place.file == run.file
    return cut.op, cut.place.line, set(cut.parameters)


@pytest.mark.parametrize(
    ("cut", "op"),
    [
        ("h = h.detach()", "detach"),
        ("h = h.data", "data"),
        ("h = torch.tensor(h.tolist())", "tolist"),
        ("h = torch.from_numpy(h.detach().numpy())", "numpy"),
        ("h = torch.tensor(h.detach().numpy())", "numpy"),
        ("h = torch.as_tensor(h.detach().numpy() * 2)", "numpy"),
        ("h = h.round()", "round"),
        ("h = torch.sign(h)", "sign"),
        ("h = (h > 0).float()", "gt"),
        ("h = F.one_hot(h.argmax(1), 8).float()", "argmax"),
        ("h = h.detach().clone().requires_grad_()", "detach"),
        ("z = torch.zeros(16, 8); z.data.add_(h); h = z", "add"),
        ("z = torch.zeros(16, 8); z.data[:] = h; h = z", "setitem"),
        ("z = torch.zeros(16, 8); z.detach().index_add_(0, torch.arange(16), h); h = z", "index_add"),
    ],
)
def test_cuts_inside_the_model(cut: str, op: str, script: WatchScript) -> None:
    run = script(NET.replace("CUT", cut))
    assert cut_at(run) == (op, run.line(cut), FEATURES)
    reached = {p.name: p.reached for p in run.facts.parameters}
    assert reached["head.weight"]
    assert not reached["features.weight"] or op in ("round", "sign")  # those give a gradient of zeros


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_torch_tensor_of_a_tensor(script: WatchScript) -> None:
    run = script(NET.replace("CUT", "h = torch.tensor(h)"))
    assert cut_at(run)[1:] == (run.line("h = torch.tensor(h)"), FEATURES)


def test_no_grad_block_names_the_line_of_the_with(script: WatchScript) -> None:
    text = NET.replace(
        "        h = torch.relu(self.features(x))\n        CUT\n",
        "        with torch.no_grad():\n            h = self.features(x)\n            h = torch.relu(h)\n",
    )
    run = script(text)
    assert cut_at(run) == ("no_grad", run.line("with torch.no_grad()"), FEATURES)


def test_the_innermost_with_counts(script: WatchScript) -> None:
    text = NET.replace(
        "        h = torch.relu(self.features(x))\n        CUT\n",
        "        with torch.enable_grad():\n            with torch.inference_mode(False), torch.no_grad():  # here\n                h = torch.relu(self.features(x))\n",
    )
    run = script(text)
    assert cut_at(run) == ("no_grad", run.line("# here"), FEATURES)


@pytest.mark.parametrize("decorator", ["@torch.no_grad()", "@torch.no_grad"])
def test_decorator(decorator: str, script: WatchScript) -> None:
    text = NET.replace("        CUT\n", "").replace("torch.relu(self.features(x))", "self.embed(x)")
    text = text.replace(
        "    def forward", f"    {decorator}\n    def embed(self, x):\n        return torch.relu(self.features(x))\n\n    def forward"
    )
    run = script(text)
    assert cut_at(run) == ("no_grad", run.line(decorator), FEATURES)


def test_no_grad_in_a_helper_far_from_the_operation(script: WatchScript) -> None:
    run = script(
        """
        encoder, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 3)
        def embed(x):
            return encoder(x)
        def features(x):
            with torch.no_grad():
                return embed(x)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(head(features(torch.randn(16, 4))), torch.randint(0, 3, (16,)))
            loss.backward()
            optimizer.step()
        """
    )
    op, line, names = cut_at(run)
    assert (op, line) == ("no_grad", run.line("with torch.no_grad()"))
    assert len(names) == 2


def test_item_rebuilt_as_a_tensor(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            total = 0.0
            for i in range(2):
                total += model(torch.randn(8, 4)).pow(2).mean().item()
            loss = torch.tensor(total, requires_grad=True)
            loss.backward()
            optimizer.step()
        """
    )
    assert run.loss.leaf
    assert cut_at(run) == ("item", run.line(".item()"), {"weight", "bias"})


def test_numpy_loss(script: WatchScript) -> None:
    run = script(
        """
        import numpy as np
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            guess = model(torch.randn(8, 4))
            error = np.mean(guess.detach().numpy() ** 2)
            loss = torch.tensor(error, requires_grad=True)
            loss.backward()
            optimizer.step()
        """
    )
    assert run.loss.leaf
    assert {c.place.line for c in run.loss.cuts} == {run.line("guess.detach()")}


def test_argmax_before_the_loss(script: WatchScript) -> None:
    run = script(
        """
        model, scale = nn.Linear(4, 3), nn.Parameter(torch.ones(()))
        optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            guess = model(torch.randn(8, 4)).argmax(dim=1).float()
            loss = F.mse_loss(guess * scale, torch.ones(8))
            loss.backward()
            optimizer.step()
        """
    )
    assert cut_at(run) == ("argmax", run.line(".argmax(dim=1)"), {"model.weight", "model.bias"} if len(run.facts.models) > 1 else {"weight", "bias"})


DELIBERATE = {
    "straight through": NET.replace("CUT", "h = h + (h.round() - h).detach()"),
    "straight through, binary": NET.replace("CUT", "h = (h > 0).float() + h - h.detach()"),
    "normalised by its own detached norm": NET.replace("CUT", "h = h / h.norm(dim=1, keepdim=True).detach()"),
    "stop-gradient target (BYOL)": """
        online, predictor = nn.Linear(4, 8), nn.Linear(8, 8)
        optimizer = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            a, b = torch.randn(16, 4), torch.randn(16, 4)
            loss = -F.cosine_similarity(predictor(online(a)), online(b).detach()).mean()
            loss.backward()
            optimizer.step()
    """,
    "target network under no_grad": """
        import copy
        q = nn.Linear(4, 2)
        target = copy.deepcopy(q)
        optimizer = torch.optim.SGD(q.parameters(), lr=0.05)
        for step in range(3):
            with torch.no_grad():
                aim = target(torch.randn(16, 4)).max(1).values
            loss = F.smooth_l1_loss(q(torch.randn(16, 4))[:, 0], aim)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "GAN with detached fakes": """
        G, D = nn.Linear(3, 2), nn.Linear(2, 1)
        opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
        for step in range(4):
            opt_d.zero_grad()
            fake = G(torch.randn(8, 3))
            d_loss = F.softplus(-D(torch.randn(8, 2))).mean() + F.softplus(D(fake.detach())).mean()
            d_loss.backward()
            opt_d.step()
            opt_g.zero_grad()
            g_loss = F.softplus(-D(fake)).mean()
            g_loss.backward()
            opt_g.step()
    """,
    "frozen backbone": """
        backbone = nn.Linear(4, 8).requires_grad_(False)
        head = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
        for step in range(3):
            with torch.no_grad():
                h = backbone(torch.randn(16, 4))
            loss = F.cross_entropy(head(h.detach()), torch.randint(0, 3, (16,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
    "metrics beside the loss": NET.replace("CUT", "self.seen = h.detach().mean().item(); self.best = h.argmax(1)"),
    "hidden state detached between windows": """
        cell, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)
        optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.05)
        state = None
        for step in range(4):
            out, state = cell(torch.randn(2, 6, 3), state)
            state = tuple(s.detach() for s in state)
            loss = F.mse_loss(head(out), torch.zeros(2, 6, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """,
}


@pytest.mark.parametrize("name", DELIBERATE)
def test_stopped_on_purpose(name: str, script: WatchScript) -> None:
    """No trained parameter is behind a cut (a target network's own are not trained)."""
    run = script(DELIBERATE[name])
    trained = {p.name for p in run.facts.parameters if p.optimizer is not None}
    assert len(trained) >= 2
    assert [c for loss in run.facts.losses for c in loss.cuts if trained & set(c.parameters)] == []


def test_a_gradient_that_gets_through_nowhere_is_told_with_all_parameters(script: WatchScript) -> None:
    run = script(
        NET.replace("CUT", "").replace(
            "loss = F.cross_entropy(model(x), y)", "out = model(x).detach().requires_grad_(); loss = F.cross_entropy(out, y)"
        )
    )
    op, line, names = cut_at(run)
    assert (op, line) == ("detach", run.line("model(x).detach()"))
    assert names == {*FEATURES, "head.weight", "head.bias"}


def test_a_second_cut_behind_a_draw_is_not_blamed(script: WatchScript) -> None:
    """The critic's values are detached on purpose; what cuts the actor off is the list that its log-probabilities went through."""
    run = script("""
body, actor, critic = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*body.parameters(), *actor.parameters(), *critic.parameters()], lr=0.01)
for step in range(6):
    state, memory = torch.randn(5, 4), []
    for t in range(3):
        h = torch.tanh(body(state))
        scores, value = actor(h), critic(h)[:, 0]
        action = torch.multinomial(scores.softmax(1), 1)[:, 0]
        memory.append((scores.log_softmax(1).gather(1, action[:, None])[:, 0], value, action.float()))
        state = state + 0.1 * action[:, None]
    log_probs = torch.tensor([m[0].tolist() for m in memory])
    values, rewards = torch.stack([m[1] for m in memory]), torch.stack([m[2] for m in memory])
    advantage = rewards - values.detach()
    loss = -(log_probs * advantage).mean() + F.smooth_l1_loss(values, rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""")
    assert [(c.op, c.place.line if c.place else None) for c in run.loss.cuts] == [("tolist", run.line("log_probs = torch.tensor"))]
