"""A serving process does not search what it made at its start for cycles, and searches the rest seldom; cycles still go."""

import gc
import subprocess
import sys

STORY = """
import gc, weakref
from pointsman.collector import THRESHOLDS, collect_seldom

collect_seldom()
assert gc.get_threshold() == THRESHOLDS and gc.get_freeze_count() > 1_000

class Node: ...
node = Node()
node.self, gone = node, weakref.ref(node)
del node
kept = [[] for _ in range(2 * THRESHOLDS[0])]
assert gone() is None, "a cycle made later is found by itself"
"""


def test_cycles_made_while_serving_are_still_collected() -> None:
    before = gc.get_threshold()
    subprocess.run([sys.executable, "-c", STORY], check=True, timeout=60)
    assert gc.get_threshold() == before
