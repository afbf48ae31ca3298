"""Backend of `pip install .` (PEP 517): CMake builds the module in the build folder that ./run uses, so
that what is compiled there is not compiled again, and this packs it with the Python sources.

POPGRAD_BUILD_DIR names another build folder. Nothing is downloaded or installed.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile

_root = pathlib.Path(__file__).resolve().parents[2]
_package = pathlib.Path(__file__).resolve().parent / "popgrad"


def _version():
    text = (_root / "CMakeLists.txt").read_text()
    return re.search(r"project\(popgrad VERSION ([0-9.]+)", text).group(1)


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def _metadata():
    project = tomllib.loads((_root / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {_version()}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {name}" for name in project["dependencies"]]
    for extra, names in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {name}; extra == "{extra}"' for name in names]
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join(lines) + "\n\n" + (_root / project["readme"]).read_text()


def _wheel():
    return (f"Wheel-Version: 1.0\nGenerator: popgrad {_version()}\nRoot-Is-Purelib: false\n"
            f"Tag: {_tag()}\n")


def _jobs():
    try:
        memory = int(re.search(r"MemAvailable: +(\d+)",
                               pathlib.Path("/proc/meminfo").read_text()).group(1))
    except (OSError, AttributeError):
        return 1
    # A compilation takes up to 1.5 GB.
    given = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL")
    return given or str(max(1, min(os.cpu_count() or 1, memory // 1572864)))


def _build():
    folder = pathlib.Path(os.environ.get("POPGRAD_BUILD_DIR", _root / "build"))
    # As ./run has them, so that objects are found in the compiler cache.
    environment = {"CCACHE_BASEDIR": str(_root), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1",
                   "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime",
                   **os.environ}
    configure = ["cmake", "-S", str(_root), "-B", str(folder), "-DPOPGRAD_PYTHON=ON",
                 f"-DPython_EXECUTABLE={sys.executable}"]
    if not (folder / "CMakeCache.txt").exists():
        compiler = os.environ.get("CXX") or shutil.which("clang++")
        configure += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else []
    for command in (configure, ["cmake", "--build", str(folder), "--target", "popgrad_python", "-j",
                                _jobs()]):
        try:
            done = subprocess.run(command, env=environment, check=False)
        except FileNotFoundError:
            raise SystemExit("popgrad: cmake is missing; as root: apt-get install cmake ninja-build "
                             "clang, and see ./run for the libraries") from None
        if done.returncode != 0:
            raise SystemExit(f"popgrad: {' '.join(command)} failed; its lines are above. The libraries "
                             "are listed in ./run, by their Debian names")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return folder / "python" / "popgrad" / f"_popgrad{suffix}"


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = f"popgrad-{_version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / name
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata())
    (folder / "WHEEL").write_text(_wheel())
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    module = _build()
    info = f"popgrad-{_version()}.dist-info"
    files = {f"popgrad/{path.name}": path.read_bytes() for path in sorted(_package.iterdir())
             if path.suffix in (".py", ".pyi") or path.name == "py.typed"}
    files[f"popgrad/{module.name}"] = module.read_bytes()
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = _wheel().encode()
    files[f"{info}/LICENSE"] = (_root / "LICENSE").read_bytes()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    name = f"popgrad-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, content in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The sources as git has them."""
    name = f"popgrad-{_version()}"
    target = pathlib.Path(sdist_directory) / f"{name}.tar.gz"
    subprocess.run(["git", "-C", str(_root), "archive", f"--prefix={name}/", "-o", str(target), "HEAD"],
                   check=True)
    return target.name
