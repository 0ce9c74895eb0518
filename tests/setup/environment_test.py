import shutil

import environment
import interpreter
import pytest

REQUIREMENTS = """\
tensorflow==2.16.2 ; python_full_version < '3.11'  # via keras-bct
tensorflow==2.21.0 ; python_full_version >= '3.11'  # via keras-bct
tfx==1.16.0 ; python_full_version < '3.11'
tfx==1.21.0 ; python_full_version >= '3.11'
uv==0.13.9  # via keras-bct
"""


@pytest.fixture
def checkout(machine, glibc, make_python):
    """A checkout on a machine with an old glibc and Python 3.10."""
    glibc(2, 36)
    make_python(machine / "bin", "3.10.13")
    root = machine / "checkout"
    root.mkdir()
    (root / "requirements.txt").write_text(REQUIREMENTS)
    (root / "pyproject.toml").touch()
    return environment.Environment(root)


def test_installs_with_uv_and_says_what_and_why(checkout, installs, capsys):
    checkout.prepare()

    said = capsys.readouterr().out
    assert "Python 3.10.13 on PATH" in said
    assert "with TensorFlow 2.16.2 and TFX 1.16.0" in said
    assert "because glibc 2.36 is older than 2.39" in said
    assert installs.read_text().replace(" --quiet", "").splitlines() == [
        "venv",
        "pip -qq uv==0.13.9",
        f"uv pip install --requirement {checkout.requirements}",
        f"uv pip install --no-deps --no-build-isolation --editable {checkout.root}",
    ]


def test_installs_nothing_the_second_time(checkout, installs):
    checkout.prepare()
    installs.unlink()

    said = checkout.prepare()

    assert not installs.exists()
    assert "Python 3.10.13 on PATH" in said
    assert "because glibc 2.36 is older than 2.39" in said


def test_installs_in_place_what_changed(checkout, installs):
    checkout.prepare()
    installs.unlink()
    checkout.requirements.write_text(REQUIREMENTS + "rich==15.0.0\n")

    checkout.prepare()

    assert "venv" not in installs.read_text().splitlines()
    assert f"--requirement {checkout.requirements}" in installs.read_text()


def test_starts_anew_after_an_install_that_was_cut_off(checkout, installs):
    checkout.prepare()
    installs.unlink()
    checkout.stamp.unlink()
    leftover = checkout.directory / "half-written"
    leftover.touch()

    checkout.prepare()

    assert installs.read_text().startswith("venv\n")
    assert not leftover.exists()


def test_no_stamp_is_left_by_an_install_that_fails(checkout, monkeypatch):
    checkout.prepare()
    checkout.requirements.write_text(REQUIREMENTS + "rich==15.0.0\n")
    monkeypatch.setattr(
        environment.Environment, "_uv", lambda *_: pytest.fail("no network")
    )

    with pytest.raises(pytest.fail.Exception):
        checkout.prepare()

    assert checkout.read_stamp() is None


def test_starts_anew_where_its_python_was_removed(checkout, installs):
    checkout.prepare()
    installs.unlink()
    checkout.python.unlink()

    checkout.prepare()

    assert installs.read_text().startswith("venv\n")


def test_starts_anew_where_another_python_is_named(
    checkout, installs, machine, make_python
):
    checkout.prepare()
    installs.unlink()
    named = make_python(machine / "mine", "3.10.2")

    checkout.prepare(str(named))

    assert installs.read_text().startswith("venv\n")
    installs.unlink()
    checkout.prepare(str(named))
    assert not installs.exists()


def test_starts_anew_in_a_copy_of_the_checkout(checkout, installs, machine):
    checkout.prepare()
    installs.unlink()
    copy = environment.Environment(machine / "copy")
    shutil.copytree(checkout.root, copy.root)

    copy.prepare()

    assert installs.read_text().startswith("venv\n")


def test_leaves_alone_what_is_no_environment(checkout):
    checkout.directory.mkdir()
    (checkout.directory / "thesis.txt").touch()

    with pytest.raises(environment.SetupError, match="is no virtual environment"):
        checkout.prepare()

    assert (checkout.directory / "thesis.txt").exists()


def test_a_newer_glibc_takes_the_newer_set(
    checkout, machine, glibc, make_python, capsys
):
    glibc(2, 41)
    make_python(machine / "bin", "3.13.5")

    checkout.prepare()

    assert "with TensorFlow 2.21.0 and TFX 1.21.0" in capsys.readouterr().out


def test_says_which_compiler_is_missing(checkout, machine):
    (machine / "bin" / "c++").unlink()

    with pytest.raises(environment.SetupError, match=r"No c\+\+ on PATH"):
        checkout.prepare()


def test_nothing_is_made_where_no_python_fits(checkout, machine):
    (machine / "bin" / "python3.10").unlink()

    with pytest.raises(interpreter.NoInterpreterError):
        checkout.prepare()

    assert not checkout.directory.exists()
