"""What every test of a run shares."""

import tempfile

import hypothesis
import pytest

# How long an example takes says how busy the machine is, and nothing about the code.
hypothesis.settings.register_profile(
    "unhurried",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory):
    """Where temporary files go, those of children that are killed, too.

    A killed TensorFlow leaves its generated sources behind. pytest keeps what lies in
    its own folders for three runs and removes it then.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        # Asked for again, and then found in TMPDIR.
        patch.setattr(tempfile, "tempdir", None)
        yield
