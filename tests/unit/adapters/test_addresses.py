"""Which hosts a team's server may be sent to."""

import socket

import pytest

from app.adapters.addresses import PublicAddresses, is_public
from app.domain.errors import InputError


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "2002:808:808::1", "64:ff9b::808:808"])
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",  # noqa: S104 — what is refused
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",  # shared by a provider's customers
        "169.254.169.254",  # where clouds keep a machine's credentials
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",  # 127.0.0.1 by 6to4
        "64:ff9b::a9fe:a9fe",  # 169.254.169.254 by NAT64
        "not an address",
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "::1"])
def test_every_way_to_write_this_machine_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="which is no public address"):
        PublicAddresses().resolve(host, 80)


def test_the_reason_names_host_address_and_remedy() -> None:
    with pytest.raises(InputError) as caught:
        PublicAddresses({"other"}).resolve("127.0.0.1", 80)
    assert str(caught.value) == (
        "127.0.0.1 stands for 127.0.0.1, which is no public address; whoever runs this installation can allow it:"
        " HALFLIFE_ALLOWED_ENDPOINT_HOSTS=127.0.0.1"
    )


def test_a_host_that_is_allowed_is_taken_as_it_is() -> None:
    assert PublicAddresses({"127.0.0.1"}).resolve("127.0.0.1", 80) == ["127.0.0.1"]
    assert "127.0.0.1" in PublicAddresses({"localhost"}).resolve("LOCALHOST", 80)


def test_an_unknown_name() -> None:
    with pytest.raises(OSError, match=r"not known|No address|failure"):
        PublicAddresses().resolve("no-such-host.invalid", 80)


def test_one_address_of_several_that_is_not_public_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(InputError, match=r"mixed\.example stands for 10\.0\.0\.1"):
        PublicAddresses().resolve("mixed.example", 80)
    assert PublicAddresses({"mixed.example"}).resolve("mixed.example", 80) == ["8.8.8.8", "10.0.0.1"]
