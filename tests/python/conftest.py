"""What the tests of the Python module share: the program, and instances."""

import os
import pathlib
import subprocess

import pytest

root = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Runs the program: (status, standard output, standard error)."""
    binary = os.environ["POPGRAD_BINARY"]

    def run(*words):
        done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def joma():
    return {"X": [[0.5, 0.05], [0.1, 0.55], [0.1, 0.1], [0.3, 0.3]],
            "W0": [[0.02, -0.01], [-0.01, 0.03], [0.01, 0.02], [0.01, -0.02], [0.0, 0.01]],
            "z0": [0.01, -0.02, 0.0, 0.01]}


@pytest.fixture
def bigram():
    return {"P": [[0.6, 0.1, 0.2], [0.3, 0.7, 0.1], [0.1, 0.2, 0.7]],
            "q": [[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0.7, 0, 0.3, 0], [0, 0, 0, 0, 0, 1]]}
