"""nondeterminism: what the seeds of a script that wants to come again do not cover, and what only looks like it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from sickbay.facts import Generator, Randomness, Start
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, make_record

SEEDS = """\
import random
import numpy as np
import torch

def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)

set_seed(42)
"""
AUGMENTS = SEEDS + "def augment(image):\n    return image + np.random.normal(size=image.shape)\nloader = make(augment)\n"


def drawn(source: str, *, moved: tuple[str, ...] = ("torch", "numpy", "python"), before: bool = True, other: str = "", **known: Any) -> Record:
    generators = tuple(Generator(name=g, before=before, looks=40, moved=39 if g in moved else 0) for g in ("torch", "numpy", "python"))
    randomness = Randomness(seen=40, generators=generators, **{"text_hash_varies": True} | known)
    sources = {"train.py": source} | ({"utils.py": other} if other else {})
    return make_record(series={"loss/train": [1.0] * 40}, sources=sources, randomness=randomness)


def two_trainings(second: list[float], **differing: Any) -> Record:
    place = Place("train.py", 12)
    usual: dict[str, Any] = {"place": place, "weights": "w", "given": "g", "states": {"torch": "a", "python": "b", "numpy": "c"}}
    starts = (Start(step=0, **usual), Start(step=4, **usual | {"states": {"torch": "a", "python": "x", "numpy": "c"}} | differing))
    source = "import random\nimport torch\ntorch.manual_seed(0)\ndef batches(rows):\n    random.shuffle(rows)\n    return rows\ntrain(batches)\n"
    generators = (Generator(name="python", before=True, looks=8, moved=7),)
    return make_record(
        series={"loss/train": [4.0, 3.0, 2.0, 1.0, *second]},
        sources={"train.py": source},
        randomness=Randomness(seen=8, starts=starts, generators=generators),
    )


class TestNondeterminism(CauseTestCase):
    cause = "nondeterminism"

    def sick(self) -> Iterable[Record]:
        yield drawn(AUGMENTS)
        yield drawn("from utils import set_seed\nimport numpy as np\nset_seed(0)\nfor x in data:\n    step(x + np.random.rand(4))\n", other=SEEDS)
        yield drawn("import torch, random\ntorch.manual_seed(0)  # for reproducibility\nfor rows in epochs:\n    random.shuffle(rows)\n")
        yield two_trainings([4.0, 3.0, 2.5, 1.0])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "nothing is drawn", drawn(AUGMENTS, moved=("torch",), before=False)
        yield "everything is seeded", drawn(AUGMENTS.replace("    random.seed(seed)\n", "    random.seed(seed)\n    np.random.seed(seed)\n"))
        yield "a library seeds all", drawn(AUGMENTS.replace("set_seed(42)", "L.seed_everything(42)"))
        yield "nobody asked for it", drawn("import torch\nimport numpy as np\ntorch.manual_seed(0)\nx = np.random.rand(4)\n")
        yield "nothing is seeded at all", drawn("import numpy as np\nx = np.random.rand(4)\ntrain(x)\n")
        yield "the name of the run", drawn(SEEDS + 'run_id = np.random.randint(10**6)\nfolder = f"runs/{np.random.randint(9)}"\n')
        yield "a pause and a picture", drawn(SEEDS + "time.sleep(np.random.rand())\nplt.scatter(np.random.rand(9), losses)\n")
        yield "which lines are printed", drawn(SEEDS + "for x in data:\n    if np.random.rand() < 0.1:\n        print(x)\n")
        yield "the same again", two_trainings([4.0, 3.0, 2.0, 1.0])
        yield "another fold", two_trainings([4.0, 3.0, 2.5, 1.0], given="h")
        yield "other weights", two_trainings([4.0, 3.0, 2.5, 1.0], weights="v")
        yield "another seed", two_trainings([4.0, 3.0, 2.5, 1.0], states={"torch": "z", "python": "x", "numpy": "c"})
        yield "weights on a device, which nobody looked at", two_trainings([4.0, 3.0, 2.5, 1.0], weights="")


def test_the_line_and_the_missing_seed() -> None:
    suspicion = assert_suspects(drawn(AUGMENTS), "nondeterminism", "proven")
    assert suspicion.place is not None and suspicion.place.line == 11
    assert "+    np.random.seed(seed)" in suspicion.fix.diff and suspicion.fix.safety == "safe"
    assert "set_seed(42)` at train.py:9" in suspicion.evidence[0].text


def test_the_step_at_which_two_trainings_part() -> None:
    suspicion = assert_suspects(two_trainings([4.0, 3.0, 2.5, 1.0]), "nondeterminism", "proven")
    assert suspicion.place is not None and suspicion.place.line == 5
    assert "differ from their step 2 on (2 and 2.5)" in suspicion.evidence[0].text
    assert "+random.seed(0)" in suspicion.fix.diff


VARYING = {
    "rng = np.random.default_rng()\nfor x in data:\n    step(x + rng.normal(size=3))\n": "default_rng(0)",
    "text = 'some words of text'\nletters = list(set(text))\nnumber = {c: i for i, c in enumerate(letters)}\n": "sorted(set(text))",
    "def ids(sentence: str):\n    return [hash(w) % 64 for w in sentence.split()]\nx = torch.tensor(ids('a b'))\n": "zlib.crc32(w.encode())",
    "words = 'b a c'.split()\nvocabulary = {}\nfor w in set(words):\n    vocabulary[w] = len(vocabulary)\n": "sorted(set(words))",
    "WORDS = {'a': 'b a c'.split()}\n"
    "def text(topic):\n    words = random.choices(WORDS[topic], k=9) + ['d']\n    return words\n"
    "def corpus(n):\n    return [(text(t), i) for i, t in enumerate(WORDS)]\n"
    "train, test = corpus(9), corpus(3)\nwords = set(w for row, _ in train for w in row)\nnumber = {w: i for i, w in enumerate(words)}\n": "sorted(set(w for row, _ in train for w in row))",
    "rows = []\nfor line in open('a.txt'):\n    rows.append((line.split(), 1))\nnumber = {w: i for i, w in enumerate({w for words, _ in rows for w in words})}\n": "sorted({w for words, _ in rows for w in words})",
    "words = set()\nfor line in open('a.txt'):\n    words.update(line.split())\nnumber = {w: i for i, w in enumerate(words)}\n": "enumerate(sorted(words))",
    "words = set()\nfor line in open('a.txt'):\n    words |= set(line.split())\nvocabulary = list(words)\ntrain(vocabulary)\n": "list(sorted(words))",
    "class Texts:\n    def __init__(self, path):\n        self.words = set()\n        for line in open(path):\n            self.words.update(line.split())\n"
    "        self.ids = {w: i for i, w in enumerate(self.words)}\n": "enumerate(sorted(self.words))",
    "rows = list(dict((tuple(line.split()), 1) for line in open('a.txt')).items())\nvocabulary = {}\n"
    "for word in set(w for words, _ in rows[9:] for w in words):\n    vocabulary[word] = len(vocabulary)\n": "sorted(set(w for words, _ in rows[9:] for w in words))",
    "counts = {}\nfor line in open('a.txt'):\n    for w in line.split():\n        counts[w] = counts.get(w, 0) + 1\n"
    "vocabulary = ['<pad>'] + list({w for w, n in counts.items() if n > 2})\ntrain(vocabulary)\n": "list(sorted({w for w, n in counts.items() if n > 2}))",
    "names, n = {}, 0\nfor w in {c for c in 'some text'}:\n    names[w] = n\n    n += 1\n": "sorted({c for c in 'some text'})",
    "lines = ['a b', 'c d']\nwords = set().union(*[line.split() for line in lines])\nnumber = dict(zip(words, range(len(words))))\n": "sorted(set().union(*[line.split() for line in lines]))",
    "def words(lines: list):\n    return set(' '.join(lines).split()) - {'the'}\nnumber = {w: i for i, w in enumerate(words(['a the b']))}\n": "sorted(set(' '.join(lines).split()) - {'the'})",
    "people = ['ann', 'bob']\nids = list(set(people))\nrandom.shuffle(ids)\ntrain(ids[:1])\n": "list(sorted(set(people)))",
    "from pathlib import Path\nclasses = list({p.parent.name for p in Path('x').glob('*/*.png')})\ny = [classes.index(k) for k in ks]\ntrain(y)\n": "list(sorted({p.parent.name",
    "vectors = {w: torch.randn(8) for w in set('some words'.split())}\ntrain(vectors)\n": "sorted(set('some words'.split()))",
    "rng = np.random.default_rng(hash('train') % 2**32)\nx = rng.normal(size=3)\ntrain(x)\n": "zlib.crc32('train'.encode())",
}


@pytest.mark.parametrize("lines", VARYING)
def test_what_varies_from_process_to_process(lines: str) -> None:
    seeds = SEEDS.replace("set_seed(42)", "torch.manual_seed(42)\nset_seed(1)").replace("    torch.manual_seed(seed)\n", "    np.random.seed(seed)\n")
    suspicion = assert_suspects(drawn(seeds + lines), "nondeterminism", "likely")
    assert VARYING[lines] in suspicion.fix.diff


@pytest.mark.parametrize(
    "lines",
    [
        "rng = np.random.default_rng(3)\nx = rng.normal(size=3)\ntrain(x)\n",
        "letters = sorted(set('some text'))\n",
        "letters = list(set('some text'))\nletters.sort()\n",
        "classes = list(set([3, 1, 2]))\n",
        "def corpus(n):\n    return [('some text', i) for i in range(n)]\nrows = corpus(9)\nclasses = list(set(c for _, c in rows))\n",
        "SIZES = {'small': [1, 2], 'large': [3, 4]}\nclasses = list(set(SIZES['small']))\n",
        "rows = [1]\nrows = rows + rows\nclasses = list(set(rows))\n",
        "known = set('some text'.split())\nrows = [r for r in rows if r in known]\nprint(len(set('ab')))\n",
        "words = set()\nfor line in open('a.txt'):\n    words.update(line.split())\nnumber = {w: i for i, w in enumerate(sorted(words))}\n",
        "words = set('some text'.split())\nwords = sorted(words)\nnumber = {w: i for i, w in enumerate(words)}\n",
        "counts = {w: 0 for w in set('some text'.split())}\nfor w in 'some text'.split():\n    counts[w] += 1\ntrain(counts['some'])\n",
        "words = list(dict.fromkeys('some text'.split()))\nnumber = {w: i for i, w in enumerate(words)}\n",
        "ids = set()\nfor i in range(9):\n    ids.add(i)\nkept = list(ids)\ntrain(kept)\n",
        "classes = list(set('some text'.split()))\nmodel = Net(len(classes))\ntrain(model)\n",
        "seen, rows = set(), []\nfor line in open('a.txt'):\n    if line not in seen:\n        seen.add(line)\n        rows.append(line)\ntrain(rows)\n",
        "for i, name in enumerate({'b', 'a'}):\n    print(i, name)\nassert not {'a'} & set('some text')\n",
        "total = 0\nfor w in set('some text'.split()):\n    total += 1\ntrain(total)\n",
        "names = []\nfor w in set('some text'.split()):\n    names.append(w)\nnames.sort()\ntrain(names)\n",
        "rows = [('a', 1), ('b', 2)]\nclasses = list(set(y for x, y in rows))\ntrain(classes)\n",
        "labels = {'a': 1, 'b': 2}\nclasses = list(set(labels.values()))\ntrain(classes)\n",
        "x = hash((1, 2)) % 7\n",
        "def never():\n    return np.random.default_rng().normal()\n",
    ],
)
def test_what_does_not_vary(lines: str) -> None:
    seeds = SEEDS.replace("    random.seed(seed)\n", "    random.seed(seed)\n    np.random.seed(seed)\n")
    assert_silent(drawn(seeds + lines), "nondeterminism", lines)


def test_a_salt_that_is_set() -> None:
    lines = "letters = list(set('some text'))\nnumber = {c: i for i, c in enumerate(letters)}\n"
    seeds = SEEDS.replace("    random.seed(seed)\n", "    random.seed(seed)\n    np.random.seed(seed)\n")
    assert_silent(drawn(seeds + lines, text_hash_varies=False), "nondeterminism", "PYTHONHASHSEED is in the environment")


def test_drawn_before_the_seed_is_set() -> None:
    seeds = SEEDS.replace("    random.seed(seed)\n", "    np.random.seed(seed)\n").replace("set_seed(42)\n", "")
    late = drawn(seeds + "x = np.random.rand(4)\nset_seed(42)\ntrain(x)\n")
    suspicion = assert_suspects(late, "nondeterminism", "likely")
    assert "before the seed is set" in suspicion.evidence[0].text and suspicion.fix.text == "set the seed before anything is drawn"
    assert_silent(drawn(seeds + "set_seed(42)\nx = np.random.rand(4)\ntrain(x)\n"), "nondeterminism", "after it")
    assert_silent(
        drawn(seeds + "def data():\n    return np.random.rand(4)\nset_seed(42)\ntrain(data())\n"), "nondeterminism", "only written before it"
    )


@pytest.mark.parametrize("line", ["determine_device()\n", "reproduce_figure()\n", "load_seed_data()\n", "seed_database(rows)\n"])
def test_what_only_sounds_like_seeding(line: str) -> None:
    text = "import numpy as np\nimport torch\ntorch.manual_seed(0)\nfor x in data:\n    step(x + np.random.rand(4))\n"
    defined = f"def {line.partition('(')[0]}(*_):\n    pass\n"
    assert_silent(drawn(defined + line + text), "nondeterminism", line)


CLOCK = "import time, random\nimport torch\nseed = int(time.time())\nrandom.seed(seed)\ntorch.manual_seed(seed)\n"


def test_a_seed_from_the_clock() -> None:
    assert_suspects(drawn(CLOCK + "torch.use_deterministic_algorithms(True)\n"), "nondeterminism", "likely")
    assert_silent(drawn(CLOCK + "torch.use_deterministic_algorithms(True)\nprint('seed', seed)\n"), "nondeterminism", "it is told")
