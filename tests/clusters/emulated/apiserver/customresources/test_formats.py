"""String formats: what a kube-apiserver v1.36.4 took and refused."""

from __future__ import annotations

import pytest

from clusters.emulated.apiserver.customresources.formats import check_of

TAKEN_AND_REFUSED: dict[str, tuple[list[str], list[str]]] = {
    "hostname": (
        ["a", "m-yhost", "a-", "a.bc", "a-b-c.example.com", "ü.de", "a$b"],
        ["my-host", "a.b", "-a.bc", "a_b.cd", "a.b1", "a..bc", "x.example.com."],
    ),
    "uri": (
        ["http://a", "/a b", "http://", "mailto:x@y", "*", "//x", "http://[::1]/", "http:/x", "foo:bar"],
        ["a/b", "http://a b", "http://a/%zz"],
    ),
    "email": (["a@b", "A <a@b.c>", '"q"@x.y'], ["a@", "@b", "a b@c", "a@b c", "a@b@c"]),
    "ipv4": (["::ffff:1.2.3.4"], ["1.2.3", "256.1.1.1", "1.2.3.4.5", " 1.2.3.4"]),
    "ipv6": (["::", "::ffff:1.2.3.4"], ["1::2::3", "::1%eth0"]),
    "cidr": (["1.2.3.4/8", "::/0"], ["1.2.3.4/33", "::1"]),
    "mac": (["00-11-22-33-44-55", "0011.2233.4455", "001122334455"], ["00:11:22:33:44"]),
    "uuid": (["00000000000000000000000000000000"], ["G0000000-0000-0000-0000-000000000000"]),
    "uuid4": (["00000000-0000-4000-8000-000000000000"], ["00000000-0000-1000-8000-000000000000"]),
    "isbn": (["0321751043", "978-0321751041"], ["123"]),
    "creditcard": (["4111 1111 1111 1111"], ["4111"]),
    "ssn": (["123-45-6789"], ["123456789"]),
    "hexcolor": (["fff"], ["#ffff"]),
    "rgbcolor": (["rgb(1,2,3)", "rgb( 1 , 2 , 3 )"], ["rgb(300,1,1)"]),
    "byte": (["YQ=="], ["YQ", "Y Q="]),
    "password": (["x"], []),
    "date": ([], ["2020-02-30", "2020-2-3", "20200203"]),
    "duration": (["1h30m", "1.5h", "22 ns", "3 weeks", "-1s", "0", "1d"], ["1", "5 parsecs"]),
    "date-time": (
        ["2020-01-01t00:00:00z", "2020-01-01T00:00:00.5Z"],
        ["2020-01-01T00:00:00", "2020-01-01T00:00:60Z", "2020-01-01T00:00:00+0100"],
    ),
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["x"]),
    "k8s-short-name": (["a-b"], ["-a", "a.b"]),
    "k8s-long-name": (["a.b"], ["a..b", "A"]),
    "datetime": (["2020-01-01T00:00:00Z"], ["x"]),
}


@pytest.mark.parametrize("name", TAKEN_AND_REFUSED)
def test_a_format_takes_and_refuses_what_the_real_server_does(name: str) -> None:
    taken, refused = TAKEN_AND_REFUSED[name]
    check = check_of("string", name)
    assert check is not None
    assert [text for text in taken if not check(text)] == []
    assert [text for text in refused if check(text)] == []


def test_an_unknown_format_is_not_checked() -> None:
    assert check_of("string", "zip-code") is None
    assert check_of("integer", "ipv4") is None
