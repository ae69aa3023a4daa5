"""The scoreboard counts what it says it counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scoreboard
from scoreboard import Exactness, Patient, Result

KNOWN = frozenset({"lr-too-high", "dead-relu"})


def patient(name: str, expected: str, acceptable: tuple[str, ...] = (), where: str | None = None) -> Patient:
    return Patient(Path(name), name, (expected,), acceptable, where)


def document(verdict: str, *causes: str, place: tuple[str, int] | None = None) -> dict[str, Any]:
    where = {"file": place[0], "line": place[1], "layer": None} if place else None
    return {"verdict": verdict, "diagnoses": [{"cause": c, "place": where} for c in causes], "run": {"overhead": 0.01}}


def result(of: Patient, script: str, *args: Any, **kwargs: Any) -> Result:
    made = Result(of.id, script)
    scoreboard.read_document(made, document(*args, **kwargs), of)
    return made


SICK = patient("001-a", "lr-too-high", ("dead-relu",), "train.py:7 (the rate)")
OTHER = patient("002-b", "dead-relu")
UNKNOWN = patient("003-c", "label-noise")
WELL = patient("201-d", "healthy")
PATIENTS = {p.id: p for p in (SICK, OTHER, UNKNOWN, WELL)}


def counts(*results: Result, exactness: tuple[Exactness, ...] = ()) -> dict[str, tuple[int, int]]:
    return scoreboard.count(PATIENTS, results, exactness, KNOWN)


def test_expected_and_acceptable_are_counted_apart() -> None:
    got = counts(result(SICK, "train.py", "sick", "dead-relu", "lr-too-high"), result(OTHER, "train.py", "sick", "dead-relu"))
    assert got["top1"] == (1, 2)
    assert got["top1-or-acceptable"] == (2, 2)
    assert got["top3"] == (2, 2)


def test_no_diagnosis_is_a_miss() -> None:
    got = counts(result(SICK, "train.py", "healthy"), Result(OTHER.id, "train.py", error="no diagnosis"))
    assert got["top1"] == got["top3"] == got["top1-or-acceptable"] == (0, 2)


def test_causes_of_other_versions_do_not_count() -> None:
    assert counts(result(UNKNOWN, "train.py", "sick", "dead-relu"))["top1"] == (0, 0)


def test_everything_but_healthy_is_a_false_alarm() -> None:
    got = counts(
        result(SICK, "fixed.py", "undecided", "lr-too-high"),
        result(OTHER, "fixed.py", "healthy"),
        result(WELL, "train.py", "sick", "dead-relu"),
        Result(UNKNOWN.id, "fixed.py", error="crashed"),
    )
    assert got["healthy"] == (1, 4)
    assert got["healthy twins"] == (1, 3)
    assert got["healthy scripts"] == (0, 1)


def test_place_is_the_exact_line_of_the_expected_cause() -> None:
    assert counts(result(SICK, "train.py", "sick", "lr-too-high", place=("/tmp/x/train.py", 7)))["place"] == (1, 1)
    assert counts(result(SICK, "train.py", "sick", "lr-too-high", place=("/tmp/x/train.py", 8)))["place"] == (0, 1)
    assert counts(result(SICK, "train.py", "sick", "lr-too-high"))["place"] == (0, 1)
    assert counts(result(OTHER, "train.py", "sick", "dead-relu"))["place"] == (0, 0), "a label without a line is not counted"


def test_irreproducible_scripts_prove_nothing() -> None:
    results = (Exactness("001-a", "train.py", same=True), Exactness("002-b", "train.py", same=None), Exactness("003-c", "train.py", same=False))
    assert counts(exactness=results)["exact"] == (1, 2)


def test_gates() -> None:
    got = {"top1": (9, 10), "exact": (0, 0)}
    assert scoreboard.missed_gates(["top1=0.9"], got) == []
    assert scoreboard.missed_gates(["top1=0.95"], got) == ["top1 is 0.900 (9 of 10), below 0.95"]
    assert scoreboard.missed_gates(["exact=1"], got), "a gate on nothing is not passed"
    with pytest.raises(SystemExit):
        scoreboard.parse(["--fail-under", "top2=0.5"])


def test_sample_is_stratified_and_steady() -> None:
    ward = [patient(f"{i:03d}-x", cause) for i, cause in enumerate(["a", "b", "healthy"] * 10)]
    taken = scoreboard.sample(ward, 1)
    assert sorted(p.expected[0] for p in taken) == ["a", "b", *["healthy"] * scoreboard.HEALTHY_PER_SAMPLE]
    assert taken == scoreboard.sample(list(reversed(ward)), 1)[::-1]


def test_labels_are_read(root: Path) -> None:
    patients = scoreboard.find_patients([root / "ward"])
    assert len(patients) >= 15
    assert scoreboard.find_patients([root / "ward"], causes=["healthy"]) == [p for p in patients if p.healthy]
    assert [p.id for p in scoreboard.find_patients([root / "ward"], only=[patients[0].id])] == [patients[0].id]


SCRIPT = """
import torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DISTURBANCES = {
    "a random number drawn": ("    loss.backward()", "    torch.rand(1); loss.backward()", {"random state", "losses"}),
    "a last random number drawn": ("    optimizer.step()", "    optimizer.step()\ntorch.rand(1)", {"random state"}),
    "numpy's generator used": ("    optimizer.step()", "    optimizer.step()\nimport numpy; numpy.random.rand()", {"random state"}),
    "an extra forward pass": ("    optimizer.step()", "    optimizer.step()\nmodel(torch.ones(2, 4))", {"final weights"}),
    "one weight, last bit": (
        "    optimizer.step()",
        "    optimizer.step()\nwith torch.no_grad(): model[0].bias[0].copy_(torch.nextafter(model[0].bias[0], torch.tensor(9.)))",
        {"final weights"},
    ),
}


def take_fingerprint(folder: Path, text: str) -> dict[str, Any]:
    (folder / "train.py").write_text(text, encoding="utf-8")
    command = [sys.executable, str(scoreboard.FINGERPRINT), "out.json", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return dict(json.loads((folder / "out.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return take_fingerprint(tmp_path_factory.mktemp("plain"), SCRIPT)


def test_fingerprint_is_the_same_twice(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    assert undisturbed["steps"] == undisturbed["backwards"] == 5
    assert take_fingerprint(tmp_path, SCRIPT) == undisturbed


@pytest.mark.parametrize("name", DISTURBANCES)
def test_fingerprint_sees_the_slightest_disturbance(name: str, tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    old, new, seen = DISTURBANCES[name]
    assert old in SCRIPT
    disturbed = take_fingerprint(tmp_path, SCRIPT.replace(old, new))
    assert seen <= set(scoreboard.differences(undisturbed, disturbed))
