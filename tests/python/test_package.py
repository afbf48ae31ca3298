"""What pip packs (src/python/build_wheel.py)."""

import base64
import hashlib
import pathlib
import subprocess
import sys
import zipfile

import popgrad

source = pathlib.Path(__file__).resolve().parents[2] / "src" / "python"


def test_the_wheel_holds_a_package_that_works(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(source))
    import build_wheel

    # CMake is what the tests were built by; here its product is packed.
    monkeypatch.setattr(build_wheel, "_build", lambda: pathlib.Path(popgrad._popgrad.__file__))
    name = build_wheel.build_wheel(str(tmp_path))
    assert name.startswith(f"popgrad-{popgrad.__version__}-cp3") and name.endswith(".whl")
    with zipfile.ZipFile(tmp_path / name) as wheel:
        wheel.extractall(tmp_path / "there")
        names = set(wheel.namelist())
    info = f"popgrad-{popgrad.__version__}.dist-info"
    recorded = {}
    for line in (tmp_path / "there" / info / "RECORD").read_text().splitlines():
        file, digest, _ = line.rsplit(",", 2)
        recorded[file] = digest
    assert set(recorded) == names
    for file, digest in recorded.items():
        if not digest:
            continue
        content = (tmp_path / "there" / file).read_bytes()
        made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert digest == f"sha256={made}"
    metadata = (tmp_path / "there" / info / "METADATA").read_text()
    assert "Requires-Dist: numpy\n" in metadata
    there = {f"popgrad/{path.name}" for path in (source / "popgrad").iterdir()
             if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed"}
    assert there <= names
    done = subprocess.run([sys.executable, "-c", "import popgrad; print(popgrad.__file__, "
                           "popgrad.theory('joma').run('reduced', t1=1, save=3)['t'])"],
                          env={"PYTHONPATH": str(tmp_path / "there"), "PATH": ""}, cwd=tmp_path,
                          capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/there/popgrad/__init__.py [0.  0.5 1. ]\n"


def test_metadata_come_without_a_build(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(source))
    import build_wheel

    name = build_wheel.prepare_metadata_for_build_wheel(str(tmp_path))
    text = (tmp_path / name / "METADATA").read_text()
    assert f"Version: {popgrad.__version__}\n" in text and "# popgrad in Python" in text
    assert build_wheel.get_requires_for_build_wheel() == []
