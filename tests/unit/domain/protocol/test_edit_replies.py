"""Repairs that replies give as whole programs, diffs and search/replace blocks."""

import pytest

from app.domain.programs import Program
from app.domain.protocol.edit_replies import Form, Obstacle, Repair, read_repair

SOURCE = """import math


def area(r):
    if r < 0:
        return None
    return math.pi * r


def double(r):
    if r < 0:
        return None
    return 2 * r
"""
BUGGY = Program.single(SOURCE)
FIXED = SOURCE.replace("math.pi * r\n", "math.pi * r * r\n")


def repaired(reply: str, buggy: Program = BUGGY) -> Repair:
    return read_repair(reply, buggy, "area")


def source(reply: str, form: Form) -> str:
    found = repaired(reply)
    assert (found.form, found.obstacle, found.part) == (form, None, None)
    assert found.program is not None
    return found.program.source


def test_a_whole_program() -> None:
    for reply in (f"Here:\n```python\n{FIXED}```\n", FIXED, f"```\n{FIXED}```".replace("\n", "\r\n")):
        assert source(reply, Form.PROGRAM) == FIXED
    # The same program is an answer too: it repairs nothing.
    assert source(f"```python\n{SOURCE}```", Form.PROGRAM) == SOURCE


HUNK = " def area(r):\n     if r < 0:\n         return None\n-    return math.pi * r\n+    return math.pi * r * r\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"```diff\n--- a/solution.py\n+++ b/solution.py\n@@ -4,4 +4,4 @@ import math\n{HUNK}```\nDone.",
        f"--- solution.py\n+++ solution.py\n@@ -4,4 +4,4 @@\n{HUNK}\nThat is all.\n",
        # Lines that nobody counted, a name that nobody has, no header at all, another label.
        f"```diff\n--- a/wrong.py\t2020\n+++ b/wrong.py\n@@ -99,1 +1,9 @@\n{HUNK}```",
        f"```diff\n@@\n{HUNK}```",
        f"```diff\n@@ def area @@\n{HUNK}```",
        f"```diff\n{HUNK}```",
        f"```patch\n--- a/x\n+++ b/x\n{HUNK}```",
        f"```python\n@@ -4,4 +4,4 @@\n{HUNK}```",
        f"```diff\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -4,4 +4,4 @@\n{HUNK}```",
        # Marks of context lost.
        "```diff\n@@ -4,4 +4,4 @@\ndef area(r):\n     if r < 0:\n         return None\n"
        "-    return math.pi * r\n+    return math.pi * r * r\n\n\n\n```",
        f"```diff\r\n@@ -4,4 +4,4 @@\r\n{HUNK}```".replace("\n", "\r\n").replace("\r\r", "\r"),
    ],
)
def test_a_diff(reply: str) -> None:
    assert source(reply, Form.UNIFIED_DIFF) == FIXED


def test_several_hunks_and_stated_lines() -> None:
    # The lines of the hunk are there twice: the stated ones decide, here after three lines were added above.
    reply = (
        "```diff\n@@ -1,1 +1,4 @@\n import math\n+import sys\n+\n+print(sys)\n"
        "@@ -11,2 +14,2 @@\n     if r < 0:\n-        return None\n+        return 0\n```"
    )
    expected = SOURCE.replace("import math\n", "import math\nimport sys\n\nprint(sys)\n")
    head, _, tail = expected.rpartition("return None")
    assert source(reply, Form.UNIFIED_DIFF) == f"{head}return 0{tail}"
    # Without numbers nothing says which.
    reply = "```diff\n@@\n     if r < 0:\n-        return None\n+        return 0\n```"
    assert repaired(reply) == Repair(None, Form.UNIFIED_DIFF, Obstacle.LINES_FOUND_TWICE, 1)


def test_a_hunk_that_only_adds() -> None:
    # As diff -U0 writes it: after line 1.
    assert source("```diff\n@@ -1,0 +2,1 @@\n+import sys\n```", Form.UNIFIED_DIFF) == SOURCE.replace(
        "import math\n", "import math\nimport sys\n"
    )
    assert repaired("```diff\n@@\n+import sys\n```").obstacle is Obstacle.NO_PLACE


def search_replace(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replacement}>>>>>>> REPLACE\n"


def test_search_and_replace_blocks() -> None:
    first = search_replace("    return math.pi * r\n", "    return math.pi * r * r\n")
    for reply in (first, f"solution.py\n```python\n{first}```", first.replace("\n", "  \r\n")):
        assert source(reply, Form.SEARCH_REPLACE).replace("  \n", "\n") == FIXED
    second = search_replace("    return 2 * r\n", "")
    assert source(f"{first}\nand\n{second}", Form.SEARCH_REPLACE) == FIXED.replace("    return 2 * r\n", "")


@pytest.mark.parametrize(
    ("reply", "obstacle", "part"),
    [
        (search_replace("    return math.tau * r\n", "x\n"), Obstacle.LINES_NOT_FOUND, 1),
        # Half a line, and another indentation.
        (search_replace("math.pi * r\n", "x\n"), Obstacle.LINES_NOT_FOUND, 1),
        (search_replace("        return None\n", "x\n"), Obstacle.LINES_FOUND_TWICE, 1),
        (search_replace("", "x\n"), Obstacle.NO_PLACE, 1),
        (search_replace("import math\n", "x\n") + search_replace("import sys\n", "x\n"), Obstacle.LINES_NOT_FOUND, 2),
        (search_replace("import math\n", "import math\n"), Obstacle.NO_CHANGE, None),
        ("```diff\n@@ -1,2 +1,2 @@\n-import sys\n+import os\n```", Obstacle.LINES_NOT_FOUND, 1),
    ],
)
def test_edits_that_do_not_apply(reply: str, obstacle: Obstacle, part: int | None) -> None:
    found = repaired(reply)
    assert (found.program, found.obstacle, found.part) == (None, obstacle, part)
    # A whole program beside them counts.
    assert source(f"{reply}\n```python\n{FIXED}```", Form.PROGRAM) == FIXED


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help.",
        "Use `@property`:\n```bash\npip install x\n```",
        "<<<<<<< SEARCH\nimport math\n",
        "- one\n+ two\n",
    ],
)
def test_a_reply_without_code(reply: str) -> None:
    assert repaired(reply) == Repair(None, Form.NONE, Obstacle.NO_CODE)


def test_decorators_and_matrix_products_are_no_hunks() -> None:
    program = "@cache\ndef area(r):\n    return r @ r\n"
    assert source(f"```python\n{program}```", Form.PROGRAM) == program


def test_line_ends_stay_as_they_are() -> None:
    windows = Program.single(SOURCE.replace("\n", "\r\n").removesuffix("\r\n"))
    found = repaired(f"```diff\n@@\n{HUNK}```", windows)
    assert found.program == Program.single(FIXED.replace("\n", "\r\n").removesuffix("\r\n"))
    # Other separators end no line.
    odd = Program.single("x = 'a\u2028b'\ny = 1\n")
    found = repaired("```diff\n@@\n x = 'a\u2028b'\n-y = 1\n+y = 2\n```", odd)
    assert found.program == Program.single("x = 'a\u2028b'\ny = 2\n")


PROJECT = Program({"pkg/a.py": "x = 1\ny = 1\n", "pkg/b.py": "x = 1\n", "c.py": "z = 1\n"})


def test_several_files() -> None:
    reply = (
        "```diff\n--- a/pkg/b.py\n+++ b/pkg/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
        "--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z = 1\n"
        "--- /dev/null\n+++ b/pkg/d.py\n@@ -0,0 +1,2 @@\n+w = 1\n+v = 1\n```"
    )
    expected = {"pkg/a.py": "x = 1\ny = 1\n", "pkg/b.py": "x = 2\n", "pkg/d.py": "w = 1\nv = 1\n"}
    assert repaired(reply, PROJECT).program == Program(expected)
    block = search_replace("x = 1\n", "x = 2\n")
    reply = f"**pkg/b.py**\n```python\n{block}```"
    assert repaired(reply, PROJECT).program == Program({**PROJECT.files, "pkg/b.py": "x = 2\n"})
    reply = (
        "The file `pkg/a.py` is now:\n\n```python\nx = 3\n```\n\nand\n```python c.py\nz = 3\n```\n```python\nrun()\n```"
    )
    found = repaired(reply, PROJECT)
    assert (found.program, found.form) == (
        Program({**PROJECT.files, "pkg/a.py": "x = 3\n", "c.py": "z = 3\n"}),
        Form.PROGRAM,
    )


def diff_of(old: str, new: str) -> str:
    return f"```diff\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-q = 1\n+q = 2\n```"


def test_files_that_a_program_does_not_have() -> None:
    assert repaired(diff_of("a/e.py", "b/e.py"), PROJECT) == Repair(None, Form.UNIFIED_DIFF, Obstacle.UNKNOWN_FILE, 1)
    assert repaired(search_replace("x = 1\n", "x = 2\n"), PROJECT).obstacle is Obstacle.UNKNOWN_FILE
    # Only files inside the program's folder are made.
    for path in ("../c.py", "/etc/passwd", "pkg/../x.py", ".git/config", "pkg//x.py"):
        assert repaired(diff_of("/dev/null", f"b/{path}"), PROJECT).obstacle is Obstacle.UNKNOWN_FILE
