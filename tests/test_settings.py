"""Every option: how it is written, what is refused and with which words, how it travels to the user's process."""

from __future__ import annotations

from dataclasses import fields

import pytest

from sickbay.errors import SettingsError
from sickbay.settings import Settings


def test_defaults() -> None:
    assert Settings() == Settings(budget=0.01, record_bytes=64 * 2**20, detail_steps=4)


@pytest.mark.parametrize("f", fields(Settings), ids=lambda f: f.name)
def test_every_option_is_described_and_its_shown_default_is_its_default(f: object) -> None:
    assert f.metadata["help"].endswith(".")  # type: ignore[attr-defined]
    assert f.metadata["parse"](f.metadata["show"]) == f.default  # type: ignore[attr-defined]


@pytest.mark.parametrize(("given", "value"), [("2%", 0.02), ("0.02", 0.02), (" 0.5 % ", 0.005), (0, 0.0), ("100%", 1.0)])
def test_budget(given: object, value: float) -> None:
    assert Settings(budget=given).budget == pytest.approx(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "value"), [("64MB", 2**26), ("1.5 gb", 3 * 2**29), (2**20, 2**20), ("2048 KiB", 2**21)])
def test_record_bytes(given: object, value: int) -> None:
    assert Settings(record_bytes=given).record_bytes == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": "2"}, {"budget": "-1%"}, {"budget": "fast"}, {"budget": "nan"}, {"budget": True},
        {"record_bytes": "64XB"}, {"record_bytes": "1KB"}, {"record_bytes": "-5MB"}, {"record_bytes": ""},
        {"detail_steps": -1}, {"detail_steps": 1.5}, {"detail_steps": "many"},
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_the_value_and_what_was_expected(wrong: dict[str, object]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(SettingsError) as caught:
        Settings(**wrong)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith(f"{name}: {value!r} is ")
    assert "expected" in message


def test_settings_travel_through_the_environment() -> None:
    there = Settings(budget="7%", record_bytes="3MB", detail_steps=9)  # type: ignore[arg-type]
    assert Settings.from_env(there.to_env()) == there
    assert Settings.from_env({}) == Settings()
    assert Settings.from_env({"SICKBAY_SETTINGS": '{"from a newer sickbay": 1, "detail_steps": 2}'}) == Settings(detail_steps=2)


@pytest.mark.parametrize("text", ["{nonsense", "3", "null"])
def test_unreadable_settings_are_an_error(text: str) -> None:
    with pytest.raises(SettingsError, match="SICKBAY_SETTINGS"):
        Settings.from_env({"SICKBAY_SETTINGS": text})
