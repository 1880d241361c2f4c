"""scripts/check-warnings fails on what a compiler warns of, and on nothing else."""
import json
import os
import shutil
import subprocess
import unittest

import project

TOOL = os.path.join(project.ROOT, "scripts", "check-warnings")
COMPILERS = [name for name in ("gcc-12", "gcc-14", "clang-14", "clang-19") if shutil.which(name)]


@unittest.skipUnless(COMPILERS, "none of the compilers is installed under its version")
class CheckWarnings(project.ProjectTest):
    def run_on(self, text, *compilers):
        """Exit code and output, for a project of one file."""
        self.write("one.c", text)
        path = os.path.join(self.root, "one.c")
        self.write("compile_commands.json",
                   json.dumps([{"directory": self.root, "file": path, "command": f"cc -O2 -o one.o -c {path}"}]))
        done = subprocess.run([TOOL, *compilers], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "BUILD": self.root})
        return done.returncode, done.stdout + done.stderr

    def test_clean_code_passes_and_leaves_no_file(self):
        self.assertEqual(self.run_on("int one(void);\nint one(void) { return 1; }\n", *COMPILERS),
                         (0, "".join(f"{name}: 1 files, 0 found\n" for name in COMPILERS)))
        self.assertEqual(sorted(os.listdir(self.root)), ["compile_commands.json", "one.c"])

    def test_a_warning_fails_with_its_line(self):
        for name in COMPILERS:
            with self.subTest(name):
                code, output = self.run_on("int one(int unused);\nint one(int unused) { return 1; }\n", name)
                self.assertEqual(code, 1, output)
                self.assertIn(f"{name}: 1 files, 1 found\n{self.root}/one.c:2:", output)

    def test_a_compiler_that_is_not_here_is_named(self):
        self.assertEqual(self.run_on("int x;\n", "gcc-999"), (2, "check-warnings: gcc-999: compiler not found\n"))


if __name__ == "__main__":
    unittest.main()
