import interpreter
import pytest


@pytest.mark.parametrize(
    ("glibc", "versions"),
    [
        ((2, 36), [(3, 10)]),
        ((2, 38), [(3, 10)]),
        ((2, 39), [(3, 13), (3, 12), (3, 11), (3, 10)]),
        ((2, 41), [(3, 13), (3, 12), (3, 11), (3, 10)]),
    ],
)
def test_an_older_glibc_takes_only_python_3_10(glibc, versions):
    assert list(interpreter.accepted_versions(glibc)) == versions


def test_takes_the_python_on_path(machine, glibc, make_python):
    glibc(2, 36)
    path = make_python(machine / "bin", "3.10.13")

    found = interpreter.find()

    assert found.path == str(path)
    assert found.version == (3, 10, 13)
    assert found.source == "on PATH"
    assert found.takes_older_set
    assert "glibc 2.36 is older than 2.39" in found.reason


def test_takes_the_newest_where_several_fit(machine, glibc, make_python):
    glibc(2, 41)
    for version in ("3.10.13", "3.12.1", "3.11.7"):
        make_python(machine / "bin", version)

    found = interpreter.find()

    assert found.version == (3, 12, 1)
    assert not found.takes_older_set
    assert "glibc 2.41 is new enough" in found.reason


def test_falls_back_to_3_10_on_a_newer_glibc(machine, glibc, make_python):
    glibc(2, 41)
    make_python(machine / "bin", "3.10.13")

    assert interpreter.find().takes_older_set


def test_finds_a_plain_python3_of_a_fitting_version(machine, glibc, make_python):
    glibc(2, 41)
    make_python(machine / "bin", "3.12.1", name="python3")

    assert interpreter.find().version == (3, 12, 1)


def test_passes_over_a_shim_that_does_not_answer(machine, glibc, make_python):
    glibc(2, 36)
    shim = machine / "bin" / "python3.10"
    shim.write_text(
        "#!/bin/sh\necho 'pyenv: python3.10: command not found' >&2\nexit 127\n"
    )
    shim.chmod(0o755)
    path = make_python(machine / "pyenv" / "versions" / "3.10.13" / "bin", "3.10.13")

    found = interpreter.find()

    assert found.path == str(path)
    assert found.source == "among pyenv's versions"


def test_asks_uv_last(machine, glibc, make_python):
    glibc(2, 36)
    path = make_python(machine / "managed", "3.10.13")
    uv = machine / "bin" / "uv"
    uv.write_text(f"#!/bin/sh\necho {path}\n")
    uv.chmod(0o755)

    found = interpreter.find()

    assert found.path == str(path)
    assert found.source == "through uv"


def test_names_the_base_of_a_virtual_environment(machine, glibc, make_python):
    glibc(2, 36)
    base = make_python(machine / "base", "3.10.13")
    make_python(machine / "bin", "3.10.13", base=str(base))

    assert interpreter.find().path == str(base)


def test_says_what_to_install_where_none_fits(machine, glibc, make_python):
    glibc(2, 36)
    path = make_python(machine / "bin", "3.12.1", name="python3")

    with pytest.raises(interpreter.NoInterpreterError) as error:
        interpreter.find()

    message = str(error.value)
    assert "Expected Python 3.10: glibc 2.36 is older than 2.39" in message
    assert f"{path} is Python 3.12.1" in message
    assert "uv python install 3.10" in message
    assert "pyenv install 3.10" in message


def test_lists_a_python_with_several_names_once(machine, glibc, make_python):
    glibc(2, 36)
    path = make_python(machine / "bin", "3.12.1")
    (machine / "bin" / "python3").symlink_to(path)

    with pytest.raises(interpreter.NoInterpreterError) as error:
        interpreter.find()

    assert str(error.value).count("is Python 3.12.1") == 1


def test_names_debians_packages_where_they_fit(machine, glibc):
    glibc(2, 41)

    with pytest.raises(
        interpreter.NoInterpreterError,
        match=r"apt-get install python3\.13 python3\.13-venv python3\.13-dev",
    ):
        interpreter.find()


@pytest.mark.parametrize(
    ("answer", "objection"),
    [
        ({"ensurepip": False}, r"install python3\.13-venv"),
        ({"headers": "/nowhere"}, r"install python3\.13-dev"),
        ({"free_threaded": True}, "no ordinary 64-bit CPython"),
        ({"bits": 32}, "no ordinary 64-bit CPython"),
        ({"cpython": False}, "no ordinary 64-bit CPython"),
    ],
)
def test_refuses_a_python_that_cannot_carry_the_install(
    machine, glibc, make_python, answer, objection
):
    glibc(2, 41)
    make_python(machine / "bin", "3.13.5", **answer)

    with pytest.raises(interpreter.NoInterpreterError, match=objection):
        interpreter.find()


def test_takes_the_one_that_was_named(machine, glibc, make_python):
    glibc(2, 41)
    make_python(machine / "bin", "3.13.5")
    named = make_python(machine / "mine", "3.11.7")

    found = interpreter.find(str(named))

    assert found.path == str(named)
    assert found.source == "named by INTERPRETER"


def test_refuses_the_one_that_was_named_where_it_does_not_fit(
    machine, glibc, make_python
):
    glibc(2, 36)
    make_python(machine / "bin", "3.10.13")
    named = make_python(machine / "mine", "3.11.7")

    with pytest.raises(
        interpreter.NoInterpreterError, match=f"{named} is Python 3.11.7"
    ):
        interpreter.find(str(named))


def test_refuses_a_machine_without_glibc(monkeypatch):
    monkeypatch.setattr("os.confstr", lambda name: None)

    with pytest.raises(interpreter.NoInterpreterError, match="without glibc"):
        interpreter.glibc_version()
