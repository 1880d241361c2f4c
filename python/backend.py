"""The build backend that pip and build call (PEP 517, PEP 660).

It is our own, because it needs no dependencies: the library uses neither Python nor PyTorch, so there is no
extension to compile, and pip's build isolation has nothing to fetch. A wheel is an archive of the Python
files, the C library, the MPI plugin if MPI is installed on this machine, and the command for its reports. CMake and
a C compiler build those; the version is that of CMakeLists.txt.

An sdist has the C sources in the folder "source"; in the repository they are one folder up.
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = os.path.join(HERE, "source")
SOURCE = INSIDE if os.path.isdir(INSIDE) else os.path.dirname(HERE)
FOLDERS = ("apps", "cmake", "examples", "include", "packaging", "src")  # what CMake needs
BRIDGE = ("CMakeLists.txt", "bridge.c", "bridge.h", "step.c")
OWN = ("README.md", "backend.py", "pyproject.toml")
PRODUCTS = (".o", ".a", ".so", ".pyc")
PLUGIN = "libsyncopate-mpi.so"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same inputs give the same archive

METADATA = """Metadata-Version: 2.1
Name: syncopate
Version: {version}
Summary: Trains one neural network over a slow network: sparse and delayed gradient exchange for PyTorch
License: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: syncopate {version}
Root-Is-Purelib: false
Tag: {tag}
"""


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _version() -> str:
    found = re.search(r"^project\(syncopate VERSION ([0-9.]+)", _read(os.path.join(SOURCE, "CMakeLists.txt")),
                      re.MULTILINE)
    if not found:
        raise SystemExit(f"no version in {SOURCE}/CMakeLists.txt")
    return found[1]


def _metadata() -> str:
    return METADATA.format(version=_version(), readme=_read(os.path.join(HERE, "README.md")))


# The C library.

def _cmake(*words: str) -> str:
    """Run CMake and return its output."""
    done = subprocess.run(["cmake", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\ncmake {' '.join(words)} failed; building the library needs CMake "
                         "and a C compiler")
    return done.stdout


def _build_library(folder: str) -> dict[str, str]:
    """Compile into a folder; returns {place in the package: path} of the results."""
    if not shutil.which("cmake"):
        raise SystemExit("cmake is not installed; building the library needs it and a C compiler (Debian: apt-get "
                         "install cmake gcc libc6-dev make)")
    _cmake("-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DSYNCOPATE_ENGINE=OFF",
           "-DSYNCOPATE_MPI_PLUGIN=ON", "-DSYNCOPATE_STATIC_JANSSON=ON", "-DBUILD_TESTING=OFF",
           "-DSYNCOPATE_WERROR=OFF")
    jobs = str(os.cpu_count() or 1)
    _cmake("--build", folder, "--parallel", jobs, "--target", "syncopate-python", "syncopate-command")
    built = {"syncopate/libsyncopate-python.so": os.path.join(folder, "python", "libsyncopate-python.so"),
             "syncopate/bin/syncopate": os.path.join(folder, "syncopate")}
    if "syncopate-mpi" in _cmake("--build", folder, "--target", "help"):  # MPI was found
        _cmake("--build", folder, "--parallel", jobs, "--target", "syncopate-mpi")
        built[f"syncopate/{PLUGIN}"] = os.path.join(folder, "src", PLUGIN)
    strip = shutil.which("strip")
    for path in built.values() if strip else ():
        subprocess.run([strip, "--strip-unneeded", os.path.realpath(path)], check=False)
    return built


def _tag(paths: list[str]) -> str:
    """The oldest glibc that has everything that these files need, as a tag of PEP 600. A file contains the
    versions that it needs as text."""
    minors = [0]
    for path in paths:
        with open(path, "rb") as file:
            minors += map(int, re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", file.read()))
    machine = platform.machine()
    system = f"manylinux_2_{max(minors)}" if max(minors) else "linux"  # none: not glibc
    return f"py3-none-{system}_{machine}"


# Archives.

def _files_below(folder: str, endings: tuple[str, ...] = ("",)) -> list[str]:
    """Paths below a folder, relative to it, in an order that does not depend on the file system; without
    build products."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        found += [os.path.relpath(os.path.join(place, name), folder) for name in sorted(names)
                  if name.endswith(endings) and not name.endswith(PRODUCTS)]
    return found


class _Wheel:
    """A wheel that is being written, and its list of contents."""

    def __init__(self, directory: str, tag: str):
        self._info = f"syncopate-{_version()}.dist-info"
        self.name = f"syncopate-{_version()}-{tag}.whl"
        self._archive = zipfile.ZipFile(os.path.join(directory, self.name), "w", zipfile.ZIP_DEFLATED)
        self._record: list[str] = []
        self._tag = tag

    def add(self, place: str, content: bytes, mode: int = 0o644) -> None:
        """Add one file."""
        entry = zipfile.ZipInfo(place, EPOCH)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{place},sha256={digest},{len(content)}")

    def finish(self) -> str:
        """Add metadata, licence and the list of contents; returns the archive's name."""
        for name, content in _information(self._tag).items():
            self.add(f"{self._info}/{name}", content)
        record = "\n".join([*self._record, f"{self._info}/RECORD,,", ""])
        self.add(f"{self._info}/RECORD", record.encode())
        self._archive.close()
        return self.name


def _information(tag: str) -> dict[str, bytes]:
    with open(os.path.join(SOURCE, "LICENSE"), "rb") as file:
        licence = file.read()
    return {"METADATA": _metadata().encode(), "LICENSE": licence,
            "WHEEL": WHEEL.format(version=_version(), tag=tag).encode()}


def _write_information(directory: str, tag: str) -> str:
    name = f"syncopate-{_version()}.dist-info"
    os.makedirs(os.path.join(directory, name), exist_ok=True)
    for each, content in _information(tag).items():
        with open(os.path.join(directory, name, each), "wb") as file:
            file.write(content)
    return name


# What pip calls.

def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    """Nothing besides Python."""
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None) -> str:
    """Without compiling."""
    return _write_information(metadata_directory, "py3-none-any")


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    """One wheel for every Python and PyTorch, on a glibc as old as the library allows."""
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        built = _build_library(folder)
        wheel = _Wheel(wheel_directory, _tag(list(built.values())))
        for name in _files_below(os.path.join(HERE, "syncopate"), (".py", "py.typed")):
            with open(os.path.join(HERE, "syncopate", name), "rb") as file:
                wheel.add(f"syncopate/{name}", file.read())
        for place, path in built.items():
            with open(path, "rb") as file:
                wheel.add(place, file.read(), 0o755)
        return wheel.finish()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    """The library is put next to the sources; the wheel only contains their location."""
    with tempfile.TemporaryDirectory(prefix="syncopate-") as folder:
        for place, path in _build_library(folder).items():
            os.makedirs(os.path.dirname(os.path.join(HERE, place)), exist_ok=True)
            shutil.copy(os.path.realpath(path), os.path.join(HERE, place))
    wheel = _Wheel(wheel_directory, f"py3-none-linux_{platform.machine()}")
    wheel.add("syncopate.pth", f"{HERE}\n".encode())
    return wheel.finish()


def _sdist_files() -> dict[str, str]:
    """{place in the sdist: path}, including the C sources of the library."""
    found = {name: os.path.join(HERE, name) for name in OWN}
    found["LICENSE"] = os.path.join(SOURCE, "LICENSE")
    package = os.path.join(HERE, "syncopate")
    found.update({f"syncopate/{name}": os.path.join(package, name)
                  for name in _files_below(package, (".py", "py.typed"))})
    found.update({f"source/{name}": os.path.join(SOURCE, name) for name in ("CMakeLists.txt", "LICENSE")})
    bridge = HERE if SOURCE != INSIDE else os.path.join(SOURCE, "python")
    found.update({f"source/python/{name}": os.path.join(bridge, name) for name in BRIDGE})
    for folder in FOLDERS:
        found.update({f"source/{folder}/{name}": os.path.join(SOURCE, folder, name)
                      for name in _files_below(os.path.join(SOURCE, folder))})
    return found


def build_sdist(sdist_directory, config_settings=None) -> str:
    """Everything that is needed to build a wheel elsewhere."""
    top = f"syncopate-{_version()}"
    with tarfile.open(os.path.join(sdist_directory, f"{top}.tar.gz"), "w:gz",
                      format=tarfile.PAX_FORMAT) as archive:
        def add(place: str, content: bytes) -> None:
            entry = tarfile.TarInfo(f"{top}/{place}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
        add("PKG-INFO", _metadata().encode())
        for place, path in _sdist_files().items():
            with open(path, "rb") as file:
                add(place, file.read())
    return f"{top}.tar.gz"
