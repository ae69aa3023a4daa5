"""The JSON document: always valid, obeys its schema, and every field is documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from report import fakes
from sickbay.report import document

VALIDATOR = Draft202012Validator(document.schema())


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(document.schema())
    assert document.schema()["$id"] == document.SCHEMA


@pytest.mark.parametrize("name", list(fakes.CASES))
def test_documents_obey_the_schema(name: str) -> None:
    made = document.build(fakes.CASES[name]()[0], fakes.CWD)
    VALIDATOR.validate(made)
    assert json.loads(document.dumps(made)) == made
    document.dumps(made).encode("utf-8")


def test_the_shape_that_was_promised() -> None:
    made = document.build(fakes.softmax()[0], fakes.CWD)
    assert list(made) == ["schema", "verdict", "reason", "diagnoses", "signs", "not_checked", "run", "incident", "trials", "ranks"]
    first = made["diagnoses"][0]
    assert first["cause"] == "softmax-before-cross-entropy"
    assert first["place"] == {"file": "net.py", "line": 19, "layer": "fc2"}
    assert first["evidence"][0]["steps"] == [0, 119]
    assert first["evidence"][0]["numbers"] == {"backward passes": 120}
    assert first["fix"]["safety"] == "consent"
    assert first["consequences"] == ["slow-descent", "small-gradients"]
    assert first["trial"] is None
    assert made["run"]["script"] == "train.py"
    assert made["run"]["overhead"] == 0.0134


def test_numbers_that_are_not_finite_are_strings() -> None:
    made = document.build(fakes.exploding()[0], fakes.CWD)
    assert made["signs"][0]["numbers"] == {"first step": 132, "value": "NaN"}
    strange = document.build(fakes.hostile()[0])
    assert list(strange["signs"][0]["numbers"].values()) == ["-Infinity"]
    assert strange["diagnoses"][0]["confidence"] == 0
    assert strange["run"]["overhead"] is None


def test_untrained_is_undecided_for_machines() -> None:
    made = document.build(fakes.untrained()[0])
    assert made["verdict"] == "undecided"
    assert "never called backward" in made["reason"]


def test_a_cause_without_a_place_has_an_empty_one() -> None:
    assert document.build(fakes.exploding()[0])["diagnoses"][1]["place"] == {"file": None, "line": None, "layer": None}


def test_files_elsewhere_keep_their_path() -> None:
    made = document.build(fakes.softmax()[0], "/somewhere/else")
    assert made["diagnoses"][0]["place"]["file"] == f"{fakes.CWD}/net.py"


def test_sick_needs_a_first_cause_that_is_proven_or_likely() -> None:
    diagnosis = fakes.exploding()[0]
    for causes in ((), diagnosis.causes[1:]):
        with pytest.raises(ValidationError):
            VALIDATOR.validate(document.build(replace(diagnosis, causes=causes)))


def properties(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from properties(inner, f"{path}.{name}")
    for inner in schema.get("$defs", {}).values():
        yield from properties(inner, path)


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name != "numbers":
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_no_field_is_written_that_the_schema_does_not_name() -> None:
    named = set(properties(document.schema()))
    for make in fakes.CASES.values():
        assert set(keys(document.build(make()[0]))) <= named


def test_every_field_is_documented(root: Path) -> None:
    text = (root / "docs/reference/json.md").read_text(encoding="utf-8")
    missing = sorted({name for name in properties(document.schema()) if f"`{name}`" not in text})
    assert not missing, f"docs/reference/json.md does not name {missing}"
