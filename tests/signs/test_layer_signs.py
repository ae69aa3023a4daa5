"""Signs of per-layer statistics."""

from __future__ import annotations

import numpy as np

from sickbay.facts import LinearMap, Loss, Parameter
from sickbay.record.reader import Record, with_facts
from sickbay.signs import read_signs
from sickbay.testing import make_record, model_facts

STEPS = np.arange(0, 200, 5)
LAYERS = tuple(f"layers.{i}" for i in range(8))


def family(name: str, columns: dict[str, float | np.ndarray], **facts: object) -> Record:
    points = {k: (STEPS, np.broadcast_to(v, STEPS.shape)) for k, v in columns.items()}
    return make_record(families={name: points}, steps=200, **facts)  # type: ignore[arg-type]


def by_depth(name: str, sizes: np.ndarray, **facts: object) -> Record:
    layers = LAYERS if len(sizes) == len(LAYERS) else tuple(f"layer{i}" for i in range(len(sizes)))
    columns = {f"{layer}.weight": size for layer, size in zip(layers, sizes, strict=True)}
    return family(name, columns, **(model_facts(*layers) | facts))


def names(record: Record) -> set[str]:
    return {s.name for s in read_signs(record)}


def test_gradients_that_shrink_with_every_layer() -> None:
    (sign,) = read_signs(by_depth("grad_norm", 10.0 ** np.arange(-8, 0))).named("gradient-decay-with-depth")
    assert sign.where == "layers.0.weight"
    assert sign.numbers["ratio"] < 1e-4


def test_gradients_that_grow_with_every_layer() -> None:
    assert "gradient-growth-with-depth" in names(by_depth("grad_norm", 10.0 ** -np.arange(0.0, 8)))


def test_an_even_profile_and_an_irregular_one_show_nothing() -> None:
    assert not names(by_depth("grad_norm", np.full(8, 0.3))) & {"gradient-decay-with-depth", "gradient-growth-with-depth"}
    irregular = np.array([1e-4, 1, 1e-3, 0.5, 0.2, 1e-3, 1, 0.1])
    assert "gradient-decay-with-depth" not in names(by_depth("grad_norm", irregular))


def test_zero_initialised_weights_and_first_steps_are_left_out() -> None:
    zero_start = model_facts(*LAYERS)
    zero_start["parameters"] = tuple(
        Parameter(name=p.name, shape=p.shape, layer=p.layer, initial_std=0.0 if i % 2 else 0.1) for i, p in enumerate(zero_start["parameters"])
    )
    sizes = np.where(np.arange(8) % 2, 1e-9, 0.1)
    assert not names(by_depth("grad_norm", sizes, **zero_start)) & {"gradient-decay-with-depth", "small-gradients"}


def test_converged_gradients_are_not_small_gradients() -> None:
    shrinking = np.geomspace(0.1, 1e-12, len(STEPS))
    assert "small-gradients" not in names(family("grad_norm", {f"{x}.weight": shrinking for x in LAYERS}, **model_facts(*LAYERS)))
    assert "small-gradients" in names(by_depth("grad_norm", np.full(8, 1e-9)))


def test_update_ratios() -> None:
    assert "update-ratio-low" in names(by_depth("update_ratio", np.full(8, 1e-6)))
    assert "update-ratio-high" in names(by_depth("update_ratio", np.full(8, 0.5)))
    assert not names(by_depth("update_ratio", np.full(8, 1e-3))) & {"update-ratio-low", "update-ratio-high"}


def test_a_quarter_of_the_layers_that_moves_is_no_low_ratio() -> None:
    assert "update-ratio-low" not in names(by_depth("update_ratio", np.where(np.arange(8) < 3, 1e-3, 1e-7)))


def test_a_rate_that_decays_to_zero_is_no_low_ratio() -> None:
    cosine = 1e-3 * (1 + np.cos(np.linspace(0, np.pi, len(STEPS)))) / 2
    assert "update-ratio-low" not in names(family("update_ratio", {f"{x}.weight": cosine for x in LAYERS}, **model_facts(*LAYERS)))


def test_a_rate_that_died_early_or_warms_up_later_is_no_low_ratio() -> None:
    columns = {f"{x}.weight": (STEPS, np.where(STEPS < 20, 1e-3, 1e-9)) for x in LAYERS}
    died = np.where(np.arange(200) < 20, 0.1, 1e-7)
    assert "update-ratio-low" not in names(make_record(series={"lr": died}, families={"update_ratio": columns}, steps=200, **model_facts(*LAYERS)))
    first = {f"{x}.weight": (np.arange(4), np.full(4, 1e-5)) for x in LAYERS}
    warm = np.linspace(1e-5, 1e-2, 200)
    assert "update-ratio-low" not in names(make_record(series={"lr": warm}, families={"update_ratio": first}, steps=200, **model_facts(*LAYERS)))


def test_large_first_updates_of_adam_are_no_high_ratio() -> None:
    values = np.full(len(STEPS), 1e-3)
    values[:2] = 0.4
    assert "update-ratio-high" not in names(family("update_ratio", {f"{x}.weight": values for x in LAYERS}, **model_facts(*LAYERS)))


def test_dead_units_and_since_when() -> None:
    died = np.where(STEPS < 60, 0.1, 0.95)
    (sign,) = read_signs(family("activation_dead", {"relu1": died, "relu2": 0.45})).named("dead-units")
    assert sign.where == "relu1"
    assert sign.numbers["at_start"] == 0.1
    assert sign.steps[0] == 60


def test_units_that_come_back_are_not_dead() -> None:
    assert "dead-units" not in names(family("activation_dead", {"relu1": np.where(STEPS < 60, 0.9, 0.1)}))


def test_saturation() -> None:
    assert "saturated-units" in names(family("activation_saturated", {"tanh1": 0.97}))
    assert "saturated-units" not in names(family("activation_saturated", {"tanh1": 0.5}))


def test_empty_families_can_be_read() -> None:
    assert names(make_record()) == set()


def test_a_gate_beside_each_layer_is_compared_with_its_like() -> None:
    sizes = 10.0 ** np.repeat(np.arange(-8.0, 0.0), 2) * np.tile([1.0, 0.003], 8)
    assert "gradient-decay-with-depth" in names(by_depth("grad_norm", sizes))
    assert "gradient-growth-with-depth" in names(by_depth("grad_norm", sizes[::-1]))
    assert not names(by_depth("grad_norm", np.tile([1.0, 1e-4], 8))) & {"gradient-decay-with-depth", "gradient-growth-with-depth"}


def test_depth_is_the_order_in_which_the_loss_uses_the_weights() -> None:
    sizes = 10.0 ** np.arange(-8, 0)
    order = np.random.default_rng(2).permutation(8)
    shuffled = by_depth("grad_norm", sizes[order])
    assert "gradient-decay-with-depth" not in names(shuffled)
    parameters = [p.name for p in shuffled.facts.parameters]
    maps = tuple(LinearMap(parameter=parameters[int(np.flatnonzero(order == i)[0])], op="linear") for i in range(8))
    assert "gradient-decay-with-depth" in names(with_facts(shuffled, losses=(Loss(index=0, linear_maps=maps),)))


def test_one_layer_that_does_it_all_is_no_decay_with_depth() -> None:
    """An actor with a small last layer and its critic, side by side, as PPO has them."""
    sizes = np.array([2.0e-4, 4.9e-5, 1.5e-2, 1.6e-2, 5.6e-3, 6.2e-2])
    assert "gradient-decay-with-depth" not in names(by_depth("grad_norm", sizes))
    assert "gradient-decay-with-depth" in names(by_depth("grad_norm", np.array([2.0e-5, 2.0e-4, 9.0e-4, 5.0e-3, 2.0e-2, 1.5e-1])))


# -- activations and weights ----------------------------------------------------------------------------------------

LOOKS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 199])
SITES = tuple(f"{layer}{part}" for layer in LAYERS for part in ("", ".relu"))


def activations(spread: np.ndarray, mean: np.ndarray | float = 0.0, **facts: object) -> Record:
    """`spread` is by site, or by look and site."""
    table = np.broadcast_to(spread, (len(LOOKS), np.shape(spread)[-1]))
    means = np.broadcast_to(mean, table.shape)
    sites = SITES if table.shape[1] == len(SITES) else tuple(f"site{i}" for i in range(table.shape[1]))
    columns = [{n: (LOOKS, t[:, j]) for j, n in enumerate(sites)} for t in (table, means)]
    return make_record(families={"activation_std": columns[0], "activation_mean": columns[1]}, steps=200, **facts)  # type: ignore[arg-type]


def test_activations_that_grow_with_every_layer() -> None:
    (sign,) = read_signs(activations(np.geomspace(0.5, 5e4, 16))).named("activation-growth")
    assert sign.where == "layers.7" and sign.numbers["ratio"] > 1e3
    assert "activations grow from 0.5 behind layers.0 to" in sign.text and "layer by layer" in sign.text


def test_even_uneven_and_small_activations_do_not_grow() -> None:
    assert not names(activations(np.full(16, 0.8))) & {"activation-growth", "activation-collapse"}
    assert "activation-growth" not in names(activations(np.where(np.arange(16) < 8, 0.5, 5e4)))  # one layer does it all: prices
    assert "activation-growth" not in names(activations(np.geomspace(1e-6, 1e-2, 16)))  # inputs that were small
    assert "activation-growth" not in names(activations(np.append(np.full(15, 0.8), 1e5)))  # the scale of the answers
    assert "activation-growth" not in names(activations(np.geomspace(0.5, 5e4, 5)))  # too few for depth


def test_activations_that_die_out_with_every_layer() -> None:
    (sign,) = read_signs(activations(np.geomspace(0.5, 1e-8, 16))).named("activation-collapse")
    assert sign.where == "layers.7" and sign.numbers["ratio"] < 1e-5
    assert "dies out from 0.5 behind layers.0" in sign.text


def test_a_net_that_wakes_up_or_loses_half_with_each_layer_does_not_collapse() -> None:
    dead, awake = np.geomspace(0.5, 1e-8, 16), np.full(16, 0.5)
    assert "activation-collapse" not in names(activations(np.where(LOOKS[:, None] < 8, dead, awake)))
    assert "activation-collapse" not in names(activations(0.5 * 0.75 ** np.arange(16)))
    assert "activation-collapse" not in names(activations(np.append(np.full(12, 0.8), [1e-7, 1e-7, 1e-7, 1e-7])))  # one place: dead units


def test_an_output_that_is_the_same_for_every_sample() -> None:
    single = [Parameter(name="out.weight", shape=(1, 8), layer="site3")]
    spread = np.array([0.5, 0.4, 0.3, 1e-7])
    (sign,) = read_signs(activations(spread, 2.5, parameters=single)).named("activation-collapse")
    assert "every sample is given the same answer by site3: 2.5" in sign.text
    assert "activation-collapse" not in names(activations(np.array([0.5, 0.4, 0.3, 0.02]), 2.5, parameters=single))
    assert "activation-collapse" not in names(activations(spread, 2.5))  # the units of a wide layer may be alike


def drifting(way: np.ndarray, columns: tuple[str, ...] = LAYERS) -> Record:
    points = {f"{x}.weight": (LOOKS, 3.0 * (way if x in columns else np.ones(len(LOOKS)))) for x in LAYERS}
    return make_record(families={"weight_norm": points}, steps=200, **model_facts(*LAYERS))


def test_weights_that_grow_without_bound() -> None:
    (sign,) = read_signs(drifting(1 + LOOKS / 5)).named("weight-drift")
    assert sign.numbers["ratio"] > 10 and "go on growing" in sign.text
    assert "weight-drift" in names(drifting(np.exp(LOOKS / 40)))


def test_weights_that_shrink_to_nothing() -> None:
    (sign,) = read_signs(drifting(np.exp(-LOOKS / 20))).named("weight-drift")
    assert sign.text.startswith("the weights shrink to 0.00")


def test_weights_that_find_their_size_do_not_drift() -> None:
    assert "weight-drift" not in names(drifting(1 + 20 * (1 - np.exp(-LOOKS / 15))))  # started small
    assert "weight-drift" not in names(drifting(1 + LOOKS / 100))
    assert "weight-drift" not in names(drifting(0.3 + 0.7 * np.exp(-LOOKS / 20)))  # decay beside normalisation
    assert "weight-drift" not in names(drifting(1 + LOOKS / 5, LAYERS[:3]))  # a head that was new
