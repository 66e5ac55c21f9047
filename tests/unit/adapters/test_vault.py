"""The secret is made once, stays with its owner, and what is wrong with it is said in words."""

import multiprocessing
import stat
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from app.adapters.vault import Vault
from app.domain.errors import InputError

KEY = "sk-0123456789-abcdef"


def test_the_secret_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    Vault.at(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # A Fernet key is 32 bytes in base64: 44 characters.
    assert len(path.read_bytes()) == 44
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_stored_shows_nothing_of_the_key(tmp_path: Path) -> None:
    stored = Vault.at(tmp_path / "secret.key").encrypt(KEY)
    assert KEY.encode() not in stored
    assert Vault.at(tmp_path / "secret.key").decrypt(stored) == KEY


def make_and_encrypt(path: Path, start: Barrier, said: Connection) -> None:
    """In a process of its own: open the vault as soon as the other stands ready."""
    start.wait(60)
    try:
        said.send(Vault.at(path).encrypt(KEY))
    except InputError as error:
        said.send(str(error))


def test_two_processes_at_once_make_one_secret(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    path = tmp_path / "secret.key"
    processes, answers = [], []
    for _ in range(2):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=make_and_encrypt, args=(path, start, send))
        process.start()
        send.close()
        processes.append(process)
        answers.append(receive)
    said = [answer.recv() for answer in answers]
    for process in processes:
        process.join()
    # Each can read what the other stored.
    assert [Vault.at(path).decrypt(stored) for stored in said] == [KEY, KEY]
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_was_slower_takes_the_secret_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret.key"
    generate = Fernet.generate_key

    def overtaken() -> bytes:
        """The other process makes its secret between our look and our writing."""
        monkeypatch.setattr(Fernet, "generate_key", generate)
        other.append(Vault.at(path).encrypt(KEY))
        return generate()

    other: list[bytes] = []
    monkeypatch.setattr(Fernet, "generate_key", overtaken)
    assert Vault.at(path).decrypt(other[0]) == KEY
    assert list(tmp_path.iterdir()) == [path]


def test_another_secret_cannot_read(tmp_path: Path) -> None:
    stored = Vault.at(tmp_path / "one.key").encrypt(KEY)
    with pytest.raises(InputError, match="cannot be read with this secret key: enter the API key again") as raised:
        Vault.at(tmp_path / "other.key").decrypt(stored)
    assert KEY not in str(raised.value)


def test_the_secret_of_the_environment_comes_first(tmp_path: Path) -> None:
    secret = Fernet.generate_key().decode()
    stored = Vault.of(tmp_path, secret).encrypt(KEY)
    assert list(tmp_path.iterdir()) == []
    assert Vault(secret).decrypt(stored) == KEY


@pytest.mark.parametrize("secret", ["", "short", "ü" * 44, "A" * 44], ids=ascii)
def test_a_wrong_secret_in_the_environment(tmp_path: Path, secret: str) -> None:
    # 44 times A is base64 without padding: 33 bytes, one too many.
    with pytest.raises(InputError, match=r"^HALFLIFE_SECRET_KEY: must be 32 url-safe base64-encoded bytes"):
        Vault.of(tmp_path, secret)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"half a secr", b"\xff\xfe\x00"], ids=ascii)
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"secret\.key holds no secret key: ") as raised:
        Vault.at(path)
    assert str(raised.value).startswith(str(path))
    assert path.read_bytes() == content
