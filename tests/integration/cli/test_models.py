"""`halflife models`: what is added, what is refused, and where a key never appears."""

import json
from collections.abc import Callable

import pytest

from tests.integration.cli.conftest import Home

KEY = "sk-do-not-show-this-0123456789"
URL = "http://127.0.0.1:8081/v1"


def test_a_key_is_never_printed_nor_stored_in_plain(home: Home) -> None:
    # Copied from a file, a key brings its line end along.
    named = ("--base-url", URL, "--model", "qwen", "--api-key-env", "MY_KEY", "--reasoning")
    ended = home.run("models", "add", "mine", *named, "--json", MY_KEY=f"{KEY}\n")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == {"id": 2, "name": "mine"}
    listed = home.call("models", "list", "--json")
    mine, baseline = json.loads(listed.out)
    assert mine == {
        "id": 2,
        "name": "mine",
        "kind": "openai",
        "base_url": URL,
        "model": "qwen",
        "key_hint": "6789",
        "price_input": None,
        "price_output": None,
        "reasoning": True,
    }
    assert (baseline["name"], baseline["kind"], baseline["price_input"]) == ("repair-search", "repair-search", 0.0)
    assert KEY not in ended.out + ended.err + listed.out + listed.err
    files = [path for path in home.path.rglob("*") if path.is_file()]
    assert home.path / "halflife.db" in files
    for file in files:
        assert KEY.encode() not in file.read_bytes(), file


def test_two_at_once_on_a_home_that_is_not_there_yet(bare_home: Home) -> None:
    both = [bare_home.start("models", "list", "--json") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=100)
        assert (process.returncode, err) == (0, "")
        assert [row["name"] for row in json.loads(out)] == ["repair-search"]
    assert bare_home.contents()["model_endpoints"] == 1
    assert [path.name for path in bare_home.path.glob("secret.key*")] == ["secret.key"]


REFUSED = {
    "no scheme": (["--base-url", "127.0.0.1:8081/v1"], "base URL: must be an http or https address"),
    "file": (["--base-url", "file:///etc/passwd"], "base URL: must be an http or https address"),
    "no host": (["--base-url", "http:///v1"], "base URL: must be an http or https address"),
    "half an IPv6 address": (["--base-url", "http://[::1/v1"], "base URL: must be an http or https address"),
    "no port": (["--base-url", "http://host:99999/v1"], "base URL: must be an http or https address"),
    "password": (["--base-url", "http://me:word@host/v1"], "base URL: must not hold a user name or password"),
    "no model": (["--model", " "], "model: name the model to ask for"),
    "temperature": (["--temperature", "nan"], "temperature: must be between 0 and 2"),
    "top-p": (["--top-p", "0"], "top-p: must be above 0 and at most 1"),
    "max-tokens": (["--max-tokens", "0"], "maximum tokens: must be at least 1"),
    "concurrency": (["--concurrency", "9" * 30], "concurrency: must be between 1 and 1000"),
    "timeout": (["--timeout", "inf"], "timeout: must be a positive number of seconds"),
    "price": (["--price-input", "-1"], "price: must not be negative"),
    "endless price": (["--price-output", "inf"], "price: must be a finite number"),
    "key not set": (["--api-key-env", "NO_SUCH"], "--api-key-env: the environment variable NO_SUCH is not set"),
    "key of two lines": (["--api-key-env", "TWO_LINES"], "API key: must be printable ASCII characters"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(home: Home, leaves_no_trace: Callable[[], None], options: list[str], said: str) -> None:
    base = {"--base-url": URL, "--model": "qwen"} | dict(zip(options[::2], options[1::2], strict=True))
    arguments = [part for pair in base.items() for part in pair]
    ended = home.call("models", "add", "mine", *arguments, TWO_LINES=f"{KEY}\n{KEY}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"halflife: {said}")
    assert ended.err.count("\n") == 1
    assert KEY not in ended.err


def test_a_name_that_is_taken(home: Home) -> None:
    arguments = ("models", "add", "mine", "--base-url", URL, "--model", "qwen")
    assert home.call(*arguments).out == "mine added\n"
    before = home.contents()
    ended = home.call(*arguments)
    assert (ended.code, ended.err) == (2, "halflife: name: there is a model called 'mine' already\n")
    assert home.contents() == before


def test_a_blank_name(bare_home: Home) -> None:
    ended = bare_home.call("models", "add", " ", "--base-url", URL, "--model", "qwen")
    assert (ended.code, ended.err) == (2, "halflife: name: give the model a name\n")
