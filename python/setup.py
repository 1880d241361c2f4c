"""Builds the C library with CMake, without the parts that need more than a C compiler, and puts it into
the package. MPI is in it if it is on this machine."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
TARGET = "syncopate-python"


def build_library(folder: str) -> str:
    """Compile into a folder; the path of the library."""
    if not os.path.exists(os.path.join(SOURCE, "src", "CMakeLists.txt")):
        raise SystemExit("the C sources are not beside this directory; install from the repository: "
                         "pip install ./python")
    if not shutil.which("cmake"):
        raise SystemExit("cmake is not installed; it and a C compiler build the library")
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                    "-DSYNCOPATE_ENGINE=OFF", f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", TARGET, "--parallel"], check=True)
    return os.path.join(folder, "python", f"lib{TARGET}.so")


class BuildWithLibrary(build_py):
    """The Python files, and the library beside them."""

    def run(self) -> None:
        super().run()
        folder = os.path.join(os.path.abspath(self.get_finalized_command("build").build_temp), "cmake")
        package = HERE if self.editable_mode else os.path.abspath(self.build_lib)
        shutil.copy2(build_library(folder), os.path.join(package, "syncopate"))


class PlatformWheel(bdist_wheel):
    """One wheel for every Python: the library knows nothing of it."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


class BinaryDistribution(Distribution):
    """Installed among what depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(distclass=BinaryDistribution, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
