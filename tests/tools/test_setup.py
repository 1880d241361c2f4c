"""scripts/setup installs by apt-get what is missing, and says in one line why it cannot. Its tools are played here."""
import os
import shutil
import subprocess
import unittest

import project

SETUP = os.path.join(project.ROOT, "scripts", "setup")
REAL = ("bash", "cat", "cut", "dirname", "env", "grep", "id", "mktemp", "rm", "sed", "tail")


class Setup(project.ProjectTest):
    def setUp(self):
        """A machine that has nothing installed, with its tools in bin/ and what apt-get was asked for in asked."""
        super().setUp()
        os.chmod(self.root, 0o755)
        self.bin = os.path.join(self.root, "bin")
        os.makedirs(self.bin)
        for name in REAL:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        self.write_program("dpkg-query", "exit 1\n")
        self.write_program("apt-get", f'echo "$@" >>{self.root}/asked\n')
        self.write_program("apt-cache", '[ "$1 $2" = "depends clang" ] && printf "clang\\n  Depends: clang-19\\n"\n')
        self.write_program("sudo", 'exec "$@"\n')

    def write_program(self, name, text):
        self.write("bin/" + name, "#!/bin/bash\n" + text)
        os.chmod(os.path.join(self.bin, name), 0o755)

    def setup_for(self, *words):
        done = subprocess.run([SETUP, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=60, env={"PATH": self.bin})
        return done.returncode, [line for line in done.stdout.splitlines() if ": installing " not in line]

    def asked(self):
        with open(os.path.join(self.root, "asked"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_building_needs_nothing_that_only_tests_need(self):
        self.assertEqual(self.setup_for(), (0, []))
        install = self.asked()[-1].split()
        self.assertIn("cmake", install)
        for package in ("libcmocka-dev", "g++", "ninja-build", "python3-torch", "npm"):
            self.assertNotIn(package, install)

    def test_the_runtime_of_clang_has_the_version_of_the_suite(self):
        self.assertEqual(self.setup_for("test"), (0, []))
        self.assertIn("libclang-rt-19-dev", self.asked()[-1].split())

    def test_no_package_is_asked_for_twice(self):
        self.setup_for("test")
        install = self.asked()[-1].split()
        packages = install[install.index("--no-install-recommends") + 1:]
        self.assertEqual(sorted(packages), sorted(set(packages)))

    def test_a_server_that_falls_silent_is_given_up(self):
        self.setup_for()
        for line in self.asked():
            self.assertIn("-o Acquire::http::Timeout=", line)
            self.assertIn("-o DPkg::Lock::Timeout=", line)

    def test_what_is_installed_is_not_asked_for(self):
        self.write_program("dpkg-query", "echo install ok installed\n")
        self.assertEqual(self.setup_for("test"), (0, []))
        self.assertFalse(os.path.exists(os.path.join(self.root, "asked")))

    def test_no_network_is_one_line_with_the_cause(self):
        self.write_program("apt-get", 'case "$*" in *update*) echo "W: Failed to fetch http://a.example/b  Could not resolve"; '
                                      'echo "W: Some index files failed";; *) echo "E: Unable to locate package gcc"; exit 100;; esac\n')
        self.assertEqual(self.setup_for(), (1, [
            "scripts/setup: apt-get could not install these: W: Failed to fetch http://a.example/b  Could not resolve"]))

    def test_a_full_disk_is_one_line_with_the_cause(self):
        self.write_program("apt-get", 'case "$*" in *install*) echo "E: You don\'t have enough free space in /var/cache/apt/archives/."; '
                                      'exit 100;; esac\n')
        self.assertEqual(self.setup_for(), (1, ["scripts/setup: apt-get could not install these: "
                                                "E: You don't have enough free space in /var/cache/apt/archives/."]))

    def test_who_is_not_root_and_has_no_sudo_is_told_what_is_missing(self):
        os.remove(os.path.join(self.bin, "sudo"))
        readable = shutil.copy(SETUP, self.bin)  # root's own clone may be closed to others
        code, output = project.without_root("env", "-i", f"PATH={self.bin}", shutil.which("bash"), readable)
        self.assertEqual((code, output.count("\n")), (1, 1), output)
        self.assertIn("not root and no sudo; missing: gcc", output)

    def test_a_machine_without_apt_is_told_the_list(self):
        os.remove(os.path.join(self.bin, "apt-get"))
        code, lines = self.setup_for()
        self.assertEqual((code, len(lines)), (1, 1), lines)
        self.assertIn("apt-get was not found; install your system's equivalents of: gcc", lines[0])

    def test_bad_words_are_refused(self):
        self.assertEqual(self.setup_for("all")[0], 2)


if __name__ == "__main__":
    unittest.main()
