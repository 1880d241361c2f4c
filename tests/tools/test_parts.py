"""Configuring takes what a machine has: what is missing or too old is left out, with one line each."""
import os
import shutil
import subprocess
import unittest

import project

# CMake sees no library and no header of the machine, though its compiler does.
NOTHING = ("-DCMAKE_FIND_ROOT_PATH=/nonexistent", "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY",
           "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY")
NO_MPI, NO_PNG, NO_JPEG, NO_PYTHON = (f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("MPI", "PNG", "JPEG", "Python3"))
CORE = ("-DSYNCOPATE_MPI=OFF", "-DSYNCOPATE_ENGINE=OFF", "-DSYNCOPATE_REPORT=OFF", "-DSYNCOPATE_PYTHON_PACKAGE=OFF")

OLD_MPI = """
#define MPI_VERSION 2
#define MPI_SUBVERSION 2
static inline int MPI_Init(int *argc, char ***argv) { (void)argc; (void)argv; return 0; }
static inline int MPI_Finalize(void) { return 0; }
"""
OLD_MPICC = """#!/bin/sh
case "$*" in
*-showme:compile*) echo "-I$(dirname "$0")" ;;
*-showme:link*) echo "-lm" ;;
*) exec cc "-I$(dirname "$0")" "$@" ;;
esac
"""
OLD_PYTHON = """#!/bin/sh
[ "$1" = -c ] || exec /usr/bin/python3 "$@"
shift
exec /usr/bin/python3 -c "import sys; sys.version_info = (3, 8, 1, 'final', 0); sys.argv = sys.argv[1:]; exec(sys.argv[0])" "$@"
"""


@unittest.skipUnless(shutil.which("cmake"), "CMake is not installed")
class Parts(project.ProjectTest):
    def configure(self, *flags):
        """Exit code and what went to standard error, of a build of its own."""
        done = subprocess.run(["cmake", "--no-warn-unused-cli", "-S", project.ROOT, "-B", os.path.join(self.root, "build"), *flags],
                              capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stderr

    def assert_says(self, flags, *expected):
        """It goes on, with one line for each of expected, which are two parts of that line each."""
        code, said = self.configure(*flags)
        lines = said.splitlines()
        self.assertEqual(code, 0, said)
        self.assertEqual(len(lines), len(expected), said)
        for line, (what, why) in zip(lines, expected):
            self.assertTrue(line.startswith(f"Syncopate is built without {what}"), line)
            self.assertIn(why, line)

    def write_program(self, name, text):
        self.write(name, text)
        path = os.path.join(self.root, name)
        os.chmod(path, 0o755)
        return path

    def test_what_is_missing_is_left_out_with_a_line_each(self):
        self.assert_says((*NOTHING, NO_MPI, NO_PYTHON),
                         ("MPI", "none was found; Debian: apt-get install libopenmpi-dev"),
                         ("training", "oneDNN was not found; Debian: apt-get install libdnnl-dev"),
                         ("report", "jansson was not found; Debian: apt-get install libjansson-dev"),
                         ("the library of the Python package", "Python was not found; Debian: apt-get install python3"))

    def test_what_is_not_wanted_is_left_out_in_silence(self):
        self.assert_says((*NOTHING, *CORE))

    @unittest.skipUnless(os.path.exists("/usr/include/oneapi/dnnl/dnnl.h"), "oneDNN is not installed")
    def test_training_does_without_libpng_and_libjpeg(self):
        self.assert_says((NO_PNG, NO_JPEG, "-DSYNCOPATE_MPI=OFF", "-DSYNCOPATE_PYTHON_PACKAGE=OFF"),
                         ("PNG pictures", "apt-get install libpng-dev"),
                         ("JPEG pictures", "apt-get install libjpeg-dev"))

    def test_an_mpi_that_is_too_old_is_named(self):
        self.write("mpi.h", OLD_MPI)
        compiler = self.write_program("mpicc", OLD_MPICC)
        self.assert_says(("-DSYNCOPATE_ENGINE=OFF", "-DSYNCOPATE_PYTHON_PACKAGE=OFF", f"-DMPI_C_COMPILER={compiler}"),
                         ("MPI", "MPI 2.2 was found, 3.0 or later is needed"))

    def test_an_onednn_of_another_version_is_named(self):
        for version, folder in (("1.8.1", ""), ("2.5.4", "oneapi/dnnl/"), ("4.0.0", "oneapi/dnnl/")):
            with self.subTest(version):
                self.setUp()
                parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
                self.write(f"include/{folder}dnnl_version.h",
                           "".join(f"#define DNNL_VERSION_{name} {value}\n" for name, value in parts))
                self.write("libdnnl.so", "")
                self.assert_says(("-DSYNCOPATE_MPI=OFF", "-DSYNCOPATE_PYTHON_PACKAGE=OFF",
                                  f"-DOneDNN_INCLUDE_DIR={self.root}/include", f"-DOneDNN_LIBRARY={self.root}/libdnnl.so"),
                                 ("training", f"oneDNN {version} was found, 2.6 or later, below 4, is needed"))

    def test_a_python_that_is_too_old_is_named(self):
        python = self.write_program("python3", OLD_PYTHON)
        self.assert_says(("-DSYNCOPATE_ENGINE=OFF", "-DSYNCOPATE_MPI=OFF", f"-DPython3_EXECUTABLE={python}"),
                         ("the library of the Python package", "Python 3.8.1 was found, 3.9 or later is needed"))

    def test_who_asks_for_all_parts_gets_an_error(self):
        code, said = self.configure("-DSYNCOPATE_ALL_PARTS=ON", NO_MPI)
        self.assertEqual(code, 1, said)
        self.assertIn("or -DSYNCOPATE_MPI=OFF", " ".join(said.split()))

    def test_nobody_needs_what_only_tests_need(self):
        self.assertEqual(self.configure(*CORE, "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON",
                                        "-DCMAKE_CXX_COMPILER=/nonexistent"), (0, ""))
        code, said = self.configure(*CORE, "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON", "-UCMAKE_CXX_COMPILER",
                                    "-DBUILD_TESTING=ON")
        self.assertEqual(code, 1, said)
        self.assertIn("run: scripts/setup test", " ".join(said.split()))


if __name__ == "__main__":
    unittest.main()
