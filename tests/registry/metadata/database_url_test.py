import json
import traceback

import pytest
from sqlalchemy.engine import make_url

from registry import Registry, UsageError
from registry.artifacts.storage import ArtifactRoot
from registry.cli.main import build_parser, main
from registry.metadata.database import Database
from registry.metadata.database_url import without_secrets
from registry.store import Store

WITH_PASSWORD = [
    "postgresql+psycopg://me:S3cret@host/name",
    "postgresql+psycopg://me:S3c%40ret@host:5432/name?sslmode=require",
    "postgresql+psycopg://host/name?user=me&password=S3cret",
    "postgresql+psycopg://host/name?sslpassword=S3cret&sslmode=require",
]


@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_a_password_is_not_shown(url):
    for shown in (without_secrets(url), without_secrets(make_url(url))):
        assert "S3c" not in shown
        assert "***" in shown
        assert "host" in shown and "/name" in shown


@pytest.mark.parametrize(
    "url", ["sqlite:////srv/a:b@c/registry.db", "postgresql+psycopg://me@host/name"]
)
def test_a_url_without_password_is_shown_as_it_is(url):
    assert without_secrets(make_url(url)) == url


@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_a_proposed_command_takes_the_password_from_the_environment(tmp_path, url):
    command = Store(tmp_path, database=url).command
    assert command == f'registry --root {tmp_path} --database "$REGISTRY_DATABASE"'


def test_a_proposed_command_names_a_database_without_password(tmp_path):
    url = "postgresql+psycopg://me@host/name?a=b&c=d"
    assert Store(tmp_path, database=url).command == (
        f"registry --root {tmp_path} --database '{url}'"
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg//me:S3cret@host/name",
        "postgresql+psycopg://me:p@S3cret@host/name",
        "postgresql+psycopg://me:p@S3cret:word@host/name",
        "postgresql+psycopg://me:S3cret@host:port/name",
        "nosuchdatabase://me:S3cret@host/name",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url):
    with pytest.raises(UsageError, match="database") as caught:
        Database(url)
    assert "S3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_server_that_does_not_answer_is_named_without_password(capsys, tmp_path):
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:S3cret@127.0.0.1:1/name?connect_timeout=1"
    words = ["--root", str(tmp_path), "--database", url, "list", "--json"]
    assert main(build_parser().parse_args(words)) == 1
    out, err = capsys.readouterr()
    assert "me:***@127.0.0.1" in json.loads(out)["error"]["message"]
    assert "S3cret" not in out + err


def test_init_prints_no_password(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(Database, "migrate", lambda self: None)
    monkeypatch.setattr(Database, "check", lambda self: None)
    monkeypatch.setattr(Database, "revision", lambda self: "0002")
    pytest.importorskip("psycopg")
    words = ["--root", str(tmp_path), "--database", WITH_PASSWORD[0], "init", "--json"]
    assert main(build_parser().parse_args(words)) == 0
    assert json.loads(capsys.readouterr().out)["database"] == (
        "postgresql+psycopg://me:***@host/name"
    )


@pytest.mark.parametrize("url", ["ftp://me:S3cret@host/files", "s3://b/c?token=S3cret"])
def test_a_root_with_a_password_is_refused(url):
    with pytest.raises(UsageError, match="holds a password") as caught:
        ArtifactRoot(url)
    assert "S3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_home_folder_that_nobody_has_is_refused():
    with pytest.raises(UsageError, match=r"'~nosuchuser/registry'.*from / on"):
        Registry("~nosuchuser/registry")
