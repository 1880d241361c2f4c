"""What `make install` puts into place, used as a stranger would: the README's C program is compiled by pkg-config and by
CMake, only the public interface is exported, and all parts say the same version.

    test_install.py BUILD SOURCE [NAME]      BUILD is a finished build of SOURCE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = SOURCE = ""


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def exported(library):
    return {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}


def find(folder, name):
    return [os.path.join(place, name) for place, _, names in os.walk(folder) if name in names]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.prefix = os.path.join(cls.place, "usr")
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.library = find(cls.prefix, "libsyncopate.so")[0]
        cls.libraries = os.path.dirname(cls.library)
        cls.version = re.search(r"project\(syncopate VERSION (\S+)", read(f"{SOURCE}/CMakeLists.txt"))[1]
        cls.program = os.path.join(cls.place, "program.c")
        with open(cls.program, "w", encoding="utf-8") as file:
            file.write(re.search(r"```c\n(.*?)```", read(f"{SOURCE}/README.md"), re.S)[1])
        cls.environment = dict(os.environ, LD_LIBRARY_PATH=cls.libraries,
                               PKG_CONFIG_PATH=os.path.join(cls.libraries, "pkgconfig"))

    def runs_and_agrees(self, program):
        said = run(program, env=self.environment)
        self.assertRegex(said, r"^1 workers agree on -?[0-9.]+\n$")

    def test_the_readmes_program_compiles_by_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "syncopate", env=self.environment).split()
        program = os.path.join(self.place, "by_pkg_config")
        run("cc", self.program, *flags, "-o", program)
        self.runs_and_agrees(program)

    def test_the_readmes_program_compiles_by_find_package(self):
        folder = os.path.join(self.place, "by_cmake")
        os.mkdir(folder)
        shutil.copy(self.program, folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.20)\nproject(theirs C)\n"
                       f"find_package(syncopate {self.version} REQUIRED)\n"
                       "add_executable(program program.c)\n"
                       "target_link_libraries(program PRIVATE syncopate::syncopate)\n")
        run("cmake", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", f"{folder}/build")
        self.runs_and_agrees(f"{folder}/build/program")

    def test_only_names_of_the_public_headers_are_exported(self):
        headers = "".join(read(os.path.join(place, name)) for place, _, names in os.walk(f"{SOURCE}/include")
                          for name in names)
        names = exported(self.library)
        self.assertGreater(len(names), 50)
        self.assertEqual(sorted(name for name in names if not name.startswith("syn_")), [])
        self.assertEqual(sorted(name for name in names if not re.search(rf"\b{name}\b", headers)), [])

    def test_all_parts_say_the_same_version(self):
        command = os.path.join(self.prefix, "bin", "syncopate")
        self.assertEqual(run(command, "--version"), f"syncopate {self.version}\n")
        self.assertEqual(run("pkg-config", "--modversion", "syncopate", env=self.environment).strip(), self.version)
        self.assertEqual(os.path.basename(os.path.realpath(self.library)), f"libsyncopate.so.{self.version}")
        major = self.version.split(".", maxsplit=1)[0]
        self.assertRegex(run("readelf", "-d", self.library), rf"SONAME.*\[libsyncopate\.so\.{major}\]")
        environment = dict(os.environ, PYTHONPATH=f"{SOURCE}/python", PYTHONDONTWRITEBYTECODE="1",
                           SYNCOPATE_LIBRARY=f"{BUILD}/python/libsyncopate-python.so")
        said = run(sys.executable, "-c", "import syncopate; print(syncopate.__version__)", env=environment)
        self.assertEqual(said.strip(), self.version)

    def test_every_command_has_a_manual_page(self):
        pages = {name for _, _, names in os.walk(f"{self.prefix}/share/man") for name in names}
        command = os.path.join(self.prefix, "bin", "syncopate")
        for line in run(command, "--help=words").splitlines():
            self.assertIn(f"syncopate-{line.split(chr(9))[0]}.1", pages)
        text = read(find(self.prefix, "syncopate-list.1")[0])
        self.assertIn("\\-\\-json", text)

    def test_bash_completes_commands_flags_and_choices(self):
        script = find(self.prefix, "syncopate")
        script = [path for path in script if "bash-completion" in path][0]
        ask = ('PATH={bin}:$PATH; source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
               '_syncopate; echo "${{COMPREPLY[@]}}"')

        def complete(words):
            return run("bash", "-c", ask.format(bin=f"{self.prefix}/bin", script=script, words=words)).split()
        self.assertEqual(complete("syncopate lis"), ["list"])
        self.assertEqual(complete("syncopate list --js"), ["--json"])
        self.assertEqual(complete("syncopate list --json o"), ["on", "off"])

    def test_uninstalling_leaves_nothing(self):
        prefix = os.path.join(self.place, "again")
        run("cmake", "--install", BUILD, "--prefix", prefix)
        run("cmake", f"-DMANIFEST={BUILD}/install_manifest.txt", "-P", f"{SOURCE}/cmake/uninstall.cmake")
        self.assertEqual([name for _, _, names in os.walk(prefix) for name in names], [])
        self.assertEqual([place for place, _, _ in os.walk(prefix) if place.endswith("/syncopate")], [])


if __name__ == "__main__":
    BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
