from __future__ import annotations

import pytest

from app.endpoints import checked_endpoint, split_endpoint


def test_an_address_is_a_host_and_a_port() -> None:
    assert split_endpoint(" 10.0.0.5:50052 ") == ("10.0.0.5", 50052)
    assert checked_endpoint("Tower.Local:1") == "tower.local:1"
    assert checked_endpoint("box-2.lan:50052") == "box-2.lan:50052"
    assert checked_endpoint("255.255.255.255:65535") == "255.255.255.255:65535"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "HOST:PORT"),
        ("tower", "HOST:PORT"),
        (":50052", "HOST:PORT"),
        ("tower:", "'' is no port"),
        ("tower:0", "from 1 to 65535"),
        ("tower:65536", "from 1 to 65535"),
        ("tower:-1", "'-1' is no port"),
        ("tower:5e4", "'5e4' is no port"),
        ("tower:٥", "is no port"),
        ("::1:50052", "IPv6"),
        ("[::1]:50052", "IPv6"),
        ("a b:1", "no name of a computer"),
        ("x,y:1", "no name of a computer"),
        ("-rf:1", "no name of a computer"),
        ("tower..local:1", "no name of a computer"),
        ("tower-:1", "no name of a computer"),
        (f"{'a' * 64}:1", "no name of a computer"),
        (".:1", "no name of a computer"),
        ("300.1.2.3:50052", "no IPv4 address"),
        ("10.0.5:50052", "no IPv4 address"),
        ("10.0.0.05:50052", "no IPv4 address"),
        ("10.0.0.0.5:50052", "no IPv4 address"),
        ("http://tower:50052", "HOST:PORT alone"),
        ("tower:50052/", "HOST:PORT alone"),
    ],
)
def test_what_is_no_address_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        checked_endpoint(text)
