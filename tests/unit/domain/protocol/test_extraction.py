"""Finding the program in a reply."""

import pytest

from app.domain.protocol.extraction import extract

CODE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        (f"Here it is:\n\n```python\n{CODE}```\nDone.", "fenced"),
        (f"```py\n{CODE}```", "fenced"),
        (f"```\n{CODE}```", "fenced"),
        (f"~~~python\n{CODE}~~~", "fenced"),
        (f"````python\n{CODE}````", "fenced"),
        (f"```Python\r\n{CODE}```".replace("\n", "\r\n").replace("\r\r", "\r"), "fenced"),
        (f"The fix:\n{CODE}", "bare"),
    ],
)
def test_one_program(reply: str, rule: str) -> None:
    found = extract(reply, "f")
    assert found.program is not None
    assert found.program.source == CODE
    assert found.rule == rule


def test_of_several_blocks_the_last_that_defines_the_function() -> None:
    old, usage = "def f(x):\n    return x\n", "print(f(1))\n"
    reply = f"Before:\n```python\n{old}```\nAfter:\n```python\n{CODE}```\nUse it:\n```python\n{usage}```\n"
    found = extract(reply, "f")
    assert found.program is not None
    assert found.program.source == CODE
    assert found.rule == "fenced_several"


def test_a_block_in_another_language_is_not_the_program() -> None:
    found = extract(f"```bash\npip install x\n```\n```python\n{CODE}```", "f")
    assert found.program is not None
    assert found.program.source == CODE
    assert found.rule == "fenced"


def test_a_truncated_block_counts() -> None:
    found = extract("```python\ndef f(x):\n    return x +", "f")
    assert found.program is not None
    assert found.program.source == "def f(x):\n    return x +"


def test_fences_of_the_other_length_stay_inside() -> None:
    body = 'def f(x):\n    """\n    ```\n    doc\n    ```\n    """\n'
    found = extract(f"````python\n{body}````", "f")
    assert found.program is not None
    assert found.program.source == body


@pytest.mark.parametrize(
    "reply", ["", "I cannot help with that.", "```python\n\n```", "```bash\nls\n```", "\x00\ud800"]
)
def test_no_program(reply: str) -> None:
    assert extract(reply, "f").program is None


def test_nul_and_surrogates_in_code_survive() -> None:
    code = 'def f(x):\n    return "\x00\ud800"\n'
    found = extract(f"```python\n{code}```", "f")
    assert found.program is not None
    assert found.program.source == code
    assert len(found.program.content_hash()) == 64


def test_a_method_is_found_by_its_class() -> None:
    code = "class Solution:\n    def run(self):\n        return 1\n"
    found = extract(f"```python\nx = 1\n```\n```python\n{code}```\n```python\nSolution().run()\n```", "Solution.run")
    assert found.program is not None
    assert found.program.source == code
