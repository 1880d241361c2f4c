"""From sources to an import: an sdist outside the repository, a wheel in a clean environment without a
network, an installation without a compiler or an MPI."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def start(words, cwd=None, **environment):
    """Without what this test itself is run with."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "SYNCOPATE_LIBRARY")}
    return subprocess.run(words, capture_output=True, text=True, timeout=280, check=False, cwd=cwd,
                          env={**kept, **environment})


def run(words, cwd=None, code=0, **environment):
    done = start(words, cwd, **environment)
    assert done.returncode == code, (words, done.stdout + done.stderr)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("package")


@pytest.fixture(scope="module")
def pip(place):
    """Of an environment in which nothing is installed, without any place to fetch from."""
    run([sys.executable, "-m", "venv", str(place / "clean")])
    python = str(place / "clean" / "bin" / "python")
    run([python, "-m", "pip", "uninstall", "-y", "setuptools", "wheel"])
    return [python, "-m", "pip", "--isolated", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def sdist(place):
    """As `python -m build --sdist` makes it."""
    run([sys.executable, "-c", f"import backend; backend.build_sdist({str(place)!r})"],
        cwd=os.path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE="1")
    found, = glob.glob(str(place / "*.tar.gz"))
    return found


@pytest.fixture(scope="module")
def wheel(place, pip, sdist):
    run([*pip, "wheel", "--no-index", "--no-deps", "-w", str(place), sdist], cwd=place)
    found, = glob.glob(str(place / "*.whl"))
    return found


@pytest.fixture(scope="module")
def installed(place, pip, wheel):
    """The Python of an environment with the wheel, where no compiler was to be found."""
    run([*pip, "install", "--no-index", wheel], cwd=place, PATH="/nonexistent")
    return [pip[0]]


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"^project\(syncopate VERSION ([0-9.]+)", file.read(), re.MULTILINE)[1]


def test_the_sdist_has_the_sources_and_the_licence(sdist):
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    top = f"syncopate-{version()}"
    assert {name.split("/")[0] for name in names} == {top}
    assert {f"{top}/{name}" for name in ("LICENSE", "PKG-INFO", "pyproject.toml", "syncopate/torch/hook.py",
                                         "source/src/reducer/wait.c", "source/python/bridge.c")} <= set(names)
    assert not [name for name in names if name.endswith((".o", ".so", ".pyc"))]


def test_one_wheel_serves_every_python_and_is_named_after_its_glibc(wheel):
    assert re.fullmatch(rf"syncopate-{re.escape(version())}-py3-none-manylinux_2_\d+_\w+\.whl",
                        os.path.basename(wheel))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"syncopate-{version()}.dist-info/METADATA").decode()
        binaries = {name: archive.read(name) for name in names if name.endswith((".so", "bin/syncopate"))}
    assert {"syncopate/torch/hook.py", "syncopate/py.typed", f"syncopate-{version()}.dist-info/LICENSE",
            "syncopate/bin/syncopate"} <= set(names)
    assert f"Version: {version()}\n" in metadata and "Requires-Dist" not in metadata
    needed = int(re.search(r"manylinux_2_(\d+)_", wheel)[1])
    assert needed == max(int(minor) for content in binaries.values()
                         for minor in re.findall(rb"\0GLIBC_2\.(\d+)", content))
    for name in ("syncopate/libsyncopate-python.so", "syncopate/bin/syncopate"):
        assert b"\0libmpi" not in binaries[name], f"MPI is linked into {name}"


def test_it_is_imported_without_mpi_and_says_so_when_mpi_is_asked_for(installed, place):
    output = run([*installed, "-c", "import syncopate; print(syncopate.__version__, syncopate.recipes())"],
                 cwd=place)
    assert output.startswith(version()) and "gtopk" in output
    plugins = glob.glob(str(place / "clean" / "lib" / "*" / "site-packages" / "syncopate" / "*-mpi.so"))
    for plugin in plugins:
        os.rename(plugin, plugin + ".away")
    output = run([*installed, "-c", "from syncopate.core import Group; Group.over_mpi()"], cwd=place, code=1)
    for plugin in plugins:
        os.rename(plugin + ".away", plugin)
    assert "MPI cannot be used" in output.splitlines()[-1]


@pytest.mark.skipif(not shutil.which("mpicc") or not shutil.which("mpirun"), reason="no MPI")
def test_it_uses_mpi_where_there_is_one(installed, place):
    output = run(["mpirun", "-n", "2", *installed, "-c",
                  "from syncopate.core import Group; group = Group.over_mpi(); "
                  "print(f'{group.transport} {group.workers}\\n', end='')"], cwd=place)
    assert output.count("mpi 2") == 2


@pytest.mark.skipif(not shutil.which("mpicc") or not shutil.which("mpirun"), reason="no MPI")
def test_it_never_calls_another_mpi_of_the_process(installed, place):
    (place / "other.c").write_text("#include <unistd.h>\n" + "\n".join(
        f"int {prefix}MPI_{name}(void) {{ _exit(3); }}" for prefix in ("", "P")
        for name in ("Init", "Init_thread", "Initialized", "Comm_dup", "Comm_rank", "Comm_size")))
    run(["cc", "-shared", "-fPIC", "other.c", "-o", "libother.so"], cwd=place)
    done = start([*installed, "-c", "import ctypes; ctypes.CDLL('./libother.so', ctypes.RTLD_GLOBAL)\n"
                  "from syncopate.core import Group; group = Group.over_mpi()\n"
                  "print(group.transport, group.workers)"], cwd=place)
    # Open MPI cannot be used beside another one; others can.
    refused = done.returncode == 1 and re.search(
        r"another MPI \(.*libother\.so\) than the one Syncopate was built with", done.stderr)
    assert refused or (done.returncode == 0 and "mpi 1" in done.stdout), (done.returncode, done.stdout, done.stderr)


def test_it_has_the_commands_report(installed, place):
    assert version() in run([*installed, "-m", "syncopate", "--version"], cwd=place)
    (place / "run").mkdir()
    (place / "run" / "settings.json").write_text('{"algo": "gtopk", "model": "m", "workers": 1}\n')
    (place / "run" / "metrics.jsonl").write_text('{"step": 1, "epoch": 1, "seconds": 1, "loss": 2}\n')
    run([*installed, "-m", "syncopate", "report", "run", "-o", "report.html"], cwd=place)
    assert "gtopk" in (place / "report.html").read_text(encoding="utf-8")


def test_its_command_needs_no_library_that_may_be_missing(installed, place):
    (command,) = glob.glob(str(place / "clean" / "lib" / "*" / "site-packages" / "syncopate" / "bin" / "syncopate"))
    with open(command, "rb") as file:
        assert b"libjansson.so" not in file.read()


def test_without_the_command_it_says_how_to_get_it(installed, place):
    output = run([*installed, "-c", "import sys, syncopate.__main__ as main; main.OWN = '/nonexistent'; "
                  "main.main()"], cwd=place, code=1, PATH="/nonexistent")
    assert output.count("\n") == 1 and "pip install" in output and "make install" in output
