"""Who is trained, who is reached, who was replaced, and what the user calls them."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript
from observe.watched import Run


def by_name(run: Run) -> dict[str, object]:
    names = [p.name for p in run.facts.parameters]
    assert len(names) == len(set(names)), names
    return {p.name: p for p in run.facts.parameters}


def test_a_plain_model(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.AdamW([
            {"params": model[0].parameters(), "lr": 0.1},
            {"params": model[2].parameters(), "weight_decay": 0.5},
        ], lr=0.01, betas=(0.8, 0.9))
        start = model[0].weight.detach().clone()
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    parameters = by_name(run)
    assert set(parameters) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    first = parameters["0.weight"]
    assert (first.shape, first.size, first.layer, first.layer_kind) == ((8, 4), 32, "0", "Linear")
    assert (first.optimizer, first.in_model, first.called, first.reached, first.moved, first.trainable) == (0, True, True, True, True, True)
    start = run.names["start"]
    assert first.initial_mean == pytest.approx(start.mean().item(), rel=1e-5)
    assert first.initial_std == pytest.approx(start.std(unbiased=False).item(), rel=1e-5)
    (optimizer,) = run.facts.optimizers
    assert optimizer.kind == "AdamW"
    assert [(g.lr, g.weight_decay, g.momentum, g.parameters) for g in optimizer.groups] == [(0.1, 0.01, 0.8, 2), (0.01, 0.5, 0.8, 2)]
    assert set(optimizer.parameters) == set(parameters)
    (model,) = run.facts.models
    assert [(x.name, x.kind, x.parameters) for x in model.layers] == [
        ("", "Sequential", 0),
        ("0", "Linear", 40),
        ("1", "ReLU", 0),
        ("2", "Linear", 27),
    ]


def test_a_head_replaced_after_the_optimizer_was_built(script: WatchScript) -> None:
    run = script(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 10)
            def forward(self, x):
                return self.head(self.body(x).relu())
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.head = nn.Linear(8, 3)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    old = [p for p in run.facts.parameters if not p.in_model]
    assert {p.size for p in old} == {80, 10}
    assert all(p.optimizer == 0 and p.replaced_by in ("head.weight", "head.bias") for p in old)
    new = [p for p in run.facts.parameters if p.in_model and p.layer == "head"]
    assert {p.size for p in new} == {24, 3}
    assert all(p.optimizer is None and p.reached and p.moved is False for p in new)
    assert all(run.at(p.put_at, "model.head = ") for p in new)


def test_a_weight_replaced_inside_its_layer(script: WatchScript) -> None:
    run = script("""
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.weight = nn.Parameter(torch.zeros(2, 4))
        for _ in range(4):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    (new,) = [p for p in run.facts.parameters if p.in_model and p.optimizer is None]
    assert new.name == "weight" and run.at(new.put_at, "model.weight = ")


def test_a_part_that_no_optimizer_holds(script: WatchScript) -> None:
    run = script(
        """
        encoder, head = nn.Linear(4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(head(encoder(torch.randn(8, 4)).relu()), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    forgotten = [p for p in run.facts.parameters if p.optimizer is None]
    assert {p.size for p in forgotten} == {32, 8}
    assert all(p.reached and p.moved is False and p.in_model and p.trainable for p in forgotten)
    assert {p.name for p in forgotten} == {"encoder.weight", "encoder.bias"}


def test_layers_in_a_plain_list_are_trained_by_nobody(script: WatchScript) -> None:
    run = script(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = [nn.Linear(4, 4) for _ in range(2)]
                self.head = nn.Linear(4, 3)
            def forward(self, x):
                for block in self.blocks:
                    x = block(x).relu()
                return self.head(x)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    assert {p.name for p in run.facts.parameters if p.optimizer == 0} == {"head.weight", "head.bias"}
    hidden = [p for p in run.facts.parameters if p.optimizer is None]
    assert sorted(p.size for p in hidden) == [4, 4, 16, 16]
    assert all(p.reached and p.trainable for p in hidden)


def test_frozen_unused_and_loaded(script: WatchScript) -> None:
    run = script(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.backbone = nn.Linear(4, 8).requires_grad_(False)
                self.spare = nn.Linear(8, 8)
                self.head = nn.Linear(8, 3)
            def forward(self, x):
                return self.head(self.backbone(x).relu())
        model = Net()
        model.backbone.load_state_dict(nn.Linear(4, 8).state_dict())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    parameters = by_name(run)
    frozen, spare, head = parameters["backbone.weight"], parameters["spare.weight"], parameters["head.weight"]
    assert (frozen.trainable, frozen.loaded, frozen.moved, frozen.reached) == (False, True, False, False)
    assert (spare.trainable, spare.called, spare.reached, spare.moved) == (True, False, False, False)
    assert (head.loaded, head.called, head.reached, head.moved) == (False, True, True, True)
    assert run.facts.models[0].loaded


def test_tensors_without_a_module_have_the_users_names(script: WatchScript) -> None:
    run = script(
        """
        def train():
            w1, w2 = torch.randn(4, 8, requires_grad=True), torch.randn(8, 3, requires_grad=True)
            optimizer = torch.optim.SGD([w1, w2], lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                F.cross_entropy((torch.randn(8, 4) @ w1).relu() @ w2, torch.randint(0, 3, (8,))).backward()
                optimizer.step()
        train()
        """
    )
    assert set(by_name(run)) == {"w1", "w2"}
    assert run.record.family("grad_norm").names == ("w1", "w2")


def test_names_inside_a_trainer_class(script: WatchScript) -> None:
    run = script(
        """
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(4, 3)
                self.optim = torch.optim.SGD(self.net.parameters(), lr=0.1)
            def fit(self):
                for step in range(3):
                    self.optim.zero_grad()
                    self.loss = F.cross_entropy(self.net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
                    self.loss.backward()
                    self.optim.step()
        trainer = Trainer()
        trainer.fit()
        """
    )
    assert set(by_name(run)) == {"weight", "bias"}
    assert run.facts.optimizers[0].variable == "self.optim"
    assert run.loss.variable == "self.loss"


def test_two_models_are_told_apart_by_the_users_names(script: WatchScript) -> None:
    run = script(
        """
        G, D = nn.Linear(3, 2), nn.Linear(2, 1)
        opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
        for step in range(3):
            opt_d.zero_grad()
            D(G(torch.randn(8, 3)).detach()).mean().backward()
            opt_d.step()
            opt_g.zero_grad()
            (-D(G(torch.randn(8, 3)))).mean().backward()
            opt_g.step()
        """
    )
    parameters = by_name(run)
    assert len(parameters) == 4
    assert {p.optimizer for p in parameters.values()} == {0, 1}
    assert len([n for n in parameters if n.startswith("D.")]) == 2
    assert [o.variable for o in run.facts.optimizers] == ["opt_g", "opt_d"]
    assert [loss.optimizers for loss in run.facts.losses] == [(1,), (0,)]


def test_tied_weights_are_one_parameter(script: WatchScript) -> None:
    run = script(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.out = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
                self.out.weight = self.embed.weight
            def forward(self, x):
                return self.out(self.embed(x))
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randint(0, 10, (8,))), torch.randint(0, 10, (8,))).backward()
            optimizer.step()
        """
    )
    assert set(by_name(run)) == {"embed.weight"}


def test_groups_added_while_training(script: WatchScript) -> None:
    run = script(
        """
        body, head = nn.Linear(4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for step in range(6):
            if step == 3:
                optimizer.add_param_group({"params": body.parameters(), "lr": 0.01})
            optimizer.zero_grad()
            F.cross_entropy(head(body(torch.randn(8, 4)).relu()), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    assert all(p.optimizer == 0 and p.moved for p in run.facts.parameters)
    assert [g.lr for g in run.facts.optimizers[0].groups] == [0.1, 0.01]


def test_a_model_that_is_gone_at_the_end_is_still_told(script: WatchScript) -> None:
    run = script(
        """
        def train():
            model = nn.Linear(4, 3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(12):
                optimizer.zero_grad()
                F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
                optimizer.step()
        train()
        import gc; gc.collect()
        """
    )
    assert {(p.name, p.moved, p.optimizer) for p in run.facts.parameters} == {("weight", True, 0), ("bias", True, 0)}
    assert len(run.facts.models) == 1
    assert run.facts.optimizers[0].steps == 12


BEST = """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
{before}
optimizer = torch.optim.SGD(model[2].parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = F.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    best = {{name: value.clone() for name, value in model.state_dict().items()}}
{after}
"""


@pytest.mark.parametrize(
    ("before", "after", "loaded"),
    [
        ("", "model.load_state_dict(best)", set()),
        ("model.load_state_dict({n: v + 1 for n, v in model.state_dict().items()})", "", {"0.weight", "0.bias", "2.weight", "2.bias"}),
        ("", "model.load_state_dict({n: v + 1 for n, v in best.items()})", {"0.weight", "0.bias"}),
    ],
    ids=["the best epoch's, put back", "made elsewhere", "others, into what nobody trained"],
)
def test_weights_that_are_loaded(before: str, after: str, loaded: set[str], script: WatchScript) -> None:
    watched = script(BEST.format(before=before, after=after))
    assert {p.name for p in watched.facts.parameters if p.loaded} == loaded
