"""The form of a cluster: what it takes, what it refuses in both languages, and that no secret is kept or shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster
from governance.usage.ops.secrets import looks_secret
from tests.cast import Cast

pytestmark = pytest.mark.django_db

GOOD = {
    "code": "sh",
    "name_zh": "上海",
    "name_en": "Shanghai",
    "kind": "slurm",
    "cluster_name": "shanghai, sh-old",
    "time_zone": "Asia/Shanghai",
    "tracks_gpus": "on",
    "host": "login1.example.com",
    "port": "2222",
    "user": "portal",
    "identity_file": "/etc/steelyard/id_ed25519",
    "known_hosts": "/etc/steelyard/known_hosts",
    "bin_dir": "/opt/slurm/bin",
}
REST = {"code": "rest", "kind": "slurmrestd", "time_zone": "UTC", "url": "https://slurm.example.com:6820"}
KEY = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJwb3J0YWwifQ.c2lnbmF0dXJl"


def send(client: Client, given: dict[str, Any], address: str = "/ops/clusters/new/") -> Any:
    return client.post(address, given)


def test_a_cluster_is_added_with_references_and_an_audit_line(cast: Cast) -> None:
    answer = send(cast.client("operator"), GOOD)
    assert (answer.status_code, answer["Location"]) == (302, "/ops/clusters/sh/?tab=connection")
    made = Cluster.objects.get(code="sh")
    assert (made.name_zh, made.scheduler_kind, made.scheduler_names) == ("上海", "slurm", ["shanghai", "sh-old"])
    assert made.tracks_gpus
    assert made.connection == {
        "host": "login1.example.com",
        "port": 2222,
        "user": "portal",
        "identity_file": "/etc/steelyard/id_ed25519",
        "known_hosts": "/etc/steelyard/known_hosts",
        "bin_dir": "/opt/slurm/bin",
    }
    assert AuditLine.objects.get(action="cluster.added", object_code="sh").actor == "operator"


def test_saving_changes_what_was_typed_and_keeps_what_the_form_does_not_show(cast: Cast) -> None:
    send(cast.client("operator"), GOOD)
    Cluster.objects.filter(code="sh").update(connection={**Cluster.objects.get(code="sh").connection, "silent_s": 60})
    changed = {**GOOD, "host": "login2.example.com", "tracks_gpus": ""}
    answer = send(cast.client("administrator"), changed, "/ops/clusters/sh/")
    assert answer.status_code == 302
    made = Cluster.objects.get(code="sh")
    assert (made.connection["host"], made.connection["silent_s"], made.tracks_gpus) == ("login2.example.com", 60, False)
    page = cast.client("operator").get("/ops/clusters/sh/?tab=connection").content.decode()
    assert 'value="login2.example.com"' in page
    assert 'value="shanghai, sh-old"' in page


def test_a_cluster_of_files_has_no_connection(cast: Cast) -> None:
    send(cast.client("operator"), {**GOOD, "kind": "files"})
    assert Cluster.objects.get(code="sh").connection == {}


def test_slurmrestd_names_the_variable_or_the_file_of_its_token(cast: Cast) -> None:
    assert send(cast.client("operator"), {**REST, "token_env": "SLURM_TOKEN_BJ"}).status_code == 302
    assert Cluster.objects.get(code="rest").connection == {"url": REST["url"], "token_env": "SLURM_TOKEN_BJ"}
    for wrong in ({}, {"token_env": "SLURM_TOKEN", "token_file": "/etc/token"}):
        answer = send(cast.client("operator"), {**REST, "code": "other", **wrong})
        assert answer.status_code == 422
        assert "Name either the variable or the file" in answer.content.decode()


def test_slurmrestd_may_answer_at_a_socket_without_a_token(cast: Cast) -> None:
    given = {**REST, "url": "", "socket": "/run/slurmrestd.socket", "version": "v0.0.42", "cluster": "bj"}
    assert send(cast.client("operator"), given).status_code == 302
    kept = Cluster.objects.get(code="rest").connection
    assert kept == {"socket": "/run/slurmrestd.socket", "version": "v0.0.42", "cluster": "bj"}


BAD = [
    ("code", "", "Fill this in.", "填写此项"),
    ("code", "s h", "Begin with a letter or digit", "以字母或数字开头"),
    ("code", "new", "taken by a page", "已被页面占用"),
    ("code", "bj", "There is a cluster “bj” already", "已有集群“bj”"),
    ("time_zone", "Mars/Base", "There is no such time zone", "没有这个时区"),
    ("port", "99999", "Give a number from 1 to 65535", "填写1到65535的数"),
    ("host", "-oProxyCommand=touch", "Give a host name", "填写主机名"),
    ("host", "ssh://login1/x", "Give a host name", "填写主机名"),
    ("user", "a:b", "Give a login name", "填写登录名"),
    ("known_hosts", "", "A host needs a file that holds its key", "保存其密钥"),
    ("identity_file", "id_ed25519", "Give an absolute path on the portal", "门户主机上的绝对路径"),
    ("bin_dir", "opt/slurm", "Give an absolute path on the scheduler", "调度器主机上的绝对路径"),
    ("cluster_name", "two words", "Give names without spaces", "名称中不能有空格"),
    ("cluster", "a b", "Give one name without spaces", "填写一个不含空格的名称"),
    ("kind", "pbs", "Choose one of these", "从中选择一项"),
]


@pytest.mark.parametrize(("field", "value", "english", "chinese"), BAD)
def test_bad_input_is_said_at_its_field_in_both_languages(
    cast: Cast, field: str, value: str, english: str, chinese: str
) -> None:
    for language, words in (("en", english), ("zh-hans", chinese)):
        answer = send(cast.client("operator", language=language), {**GOOD, field: value})
        assert answer.status_code == 422
        assert list(answer.context["form"].errors) == [field]
        body = answer.content.decode()
        assert words in body
        assert f'aria-describedby="id_{field}' in body or 'aria-invalid="true"' in body
        assert f'href="#id_{field}"' in body
    assert not Cluster.objects.filter(code=GOOD["code"]).exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "slurm.example.com"}, "begins with http:// or https://"),
        ({"url": "https://u@slurm.example.com/"}, "begins with http:// or https://"),
        ({"token_env": "hunter2"}, "Give the name of a variable"),
        ({"token_env": "STEELYARD_SECRET_KEY"}, "holds a secret of the portal itself"),
        ({"socket": "/run/slurmrestd.socket"}, "either an address or a Unix socket"),
        ({"version": "42"}, "Write it as v0.0.42"),
        ({"ca_file": "ca.pem"}, "Give an absolute path on the portal"),
        ({"token_env": "", "token_file": "token"}, "Give an absolute path on the portal"),
    ],
)
def test_bad_addresses_and_references_of_slurmrestd_are_refused(
    cast: Cast, changes: dict[str, str], words: str
) -> None:
    answer = send(cast.client("operator"), {**REST, "token_env": "SLURM_TOKEN", **changes})
    assert answer.status_code == 422
    assert words in answer.content.decode()


@pytest.mark.parametrize(
    ("field", "secret"),
    [
        ("identity_file", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY}"),
        ("identity_file", KEY),
        ("known_hosts", "/tmp/" + KEY),
        ("host", "https://portal:hunter2@login1"),
        ("user", TOKEN),
        ("name_en", "password=hunter2"),
        ("code", KEY),
        ("token_env", TOKEN),
        ("token_file", "glpat-a1b2c3d4e5f6"),
        ("url", "https://portal:hunter2@slurm.example.com"),
        ("token_env", "hunter2hunter2"),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_secret_is_refused_and_never_comes_back(
    cast: Cast, field: str, secret: str, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    given = {**(REST | {"token_env": "SLURM_TOKEN"} if field.startswith(("url", "token")) else GOOD), field: secret}
    for address in ("/ops/clusters/new/", "/ops/clusters/bj/"):
        if field == "code" and "new" not in address:
            continue
        answer = send(cast.client("operator", language=language), given, address)
        body = answer.content.decode()
        assert answer.status_code == 422
        for part in (secret, KEY, TOKEN, "hunter2", "glpat-"):
            assert part not in body
            assert part not in caplog.text
        assert not AuditLine.objects.filter(after__icontains=secret[:12]).exists()
    assert not Cluster.objects.filter(connection__icontains="hunter2").exists()


@pytest.mark.parametrize(
    "name",
    [
        "/etc/steelyard/keys/id_ed25519-portal-2026",
        "/var/lib/steelyard/known_hosts",
        "login-node-01.cluster-a.internal.example.com",
        "SLURM_TOKEN_BEIJING",
        "北京训练集群 H800 2026",
        "https://slurm.example.com:6820",
        "accelerated-training-cluster",
    ],
)
def test_names_that_people_give_are_no_secrets(name: str) -> None:
    assert not looks_secret(name)


def test_those_who_only_read_see_the_connection_and_no_form(cast: Cast) -> None:
    send(cast.client("operator"), GOOD)
    body = cast.client("auditor").get("/ops/clusters/sh/?tab=connection").content.decode()
    assert "login1.example.com" in body
    assert "id_identity_file" not in body
    assert "Test the connection" not in body
    assert send(cast.client("auditor"), GOOD, "/ops/clusters/sh/").status_code == 403
