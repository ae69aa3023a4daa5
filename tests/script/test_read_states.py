"""What becomes of weights that were read from a file and given to no model."""

from __future__ import annotations

from causes.scripts import added
from sickbay.script.read_states import merged
from sickbay.testing import make_record, place_in

READ = "def start(model, path):\n    state = torch.load(path)\n    own = model.state_dict()\n"
MERGED = READ + "    state = {k: v for k, v in state.items() if k in own}\n    own.update(state)\n    print(len(own))\n    return model\n"


def test_the_last_line_that_makes_a_state_of_it() -> None:
    found = merged(make_record(sources={"train.py": MERGED}), place_in(MERGED, "torch.load"))
    assert found is not None and found.place.text == "own.update(state)"
    assert added(found.diff) == ["    model.load_state_dict(own)"]


def test_nothing_where_it_is_loaded_or_nothing_is_made_of_it() -> None:
    for source in (MERGED.replace("print(len(own))", "model.load_state_dict(own)"), READ + "    return model\n"):
        assert merged(make_record(sources={"train.py": source}), place_in(source, "torch.load")) is None
