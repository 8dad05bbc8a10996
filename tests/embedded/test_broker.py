"""The embedded broker: there only while the supervisor runs it, closed to strangers, durable."""

import os
import socket
from pathlib import Path

import pytest
import redis

from portal import embedded


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for this process's broker."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / 'a "home"'))
    return embedded.home()


def test_without_a_running_broker_messages_stay_in_memory() -> None:
    assert embedded.broker_url() == "memory://"


def test_the_broker_asks_for_its_password_keeps_its_port_and_what_it_was_given(own_home: Path) -> None:
    process = embedded.start_broker()
    try:
        address = embedded.broker_url()
        redis.Redis.from_url(address).rpush("queue", "task")
        port = redis.Redis.from_url(address).connection_pool.connection_kwargs["port"]
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
        assert "requirepass" not in Path(f"/proc/{process.pid}/cmdline").read_text()
        assert (own_home / "broker" / "valkey.conf").stat().st_mode & 0o777 == 0o600

        process.kill()
        process.wait()
        assert embedded.broker_url() == "memory://"
        process = embedded.start_broker()
        assert embedded.broker_url() == address
        assert redis.Redis.from_url(address).lrange("queue", 0, -1) == [b"task"]
    finally:
        embedded.stop_broker(process)
    assert embedded.broker_url() == "memory://"


def test_a_stranger_on_the_brokers_port_is_not_taken_for_it(own_home: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        (own_home / "broker.json").write_text(f'{{"port": {stranger.getsockname()[1]}, "pid": {os.getpid()}}}')
        assert embedded.broker_url() == "memory://"
