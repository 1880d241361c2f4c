"""scripts/lint finds what each of its tools finds, and analyses again only what has changed."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import project

GOOD = "int twice(int x)\n{\n    return 2 * x;\n}\n"
WRONG = "int twice(int *x)\n{\n    if (!x)\n        return *x;\n    return 2;\n}\n"


def has_clang_tools():
    for tool in ("clang-format", "clang-tidy"):
        path = shutil.which(f"{tool}-14") or shutil.which(tool)
        if not path or "version 14" not in subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=False).stdout:
            return False
    return True


@unittest.skipUnless(has_clang_tools(), "clang-format 14 and clang-tidy 14 are not installed")
class Lint(project.ProjectTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(project.ROOT, "scripts"), os.path.join(self.root, "scripts"))
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(project.ROOT, name), self.root)
        self.write("src/base/twice.h", "int twice(int x);\n")
        self.write("src/base/twice.c", '#include "base/twice.h"\n\n' + GOOD)
        self.write("src/base/thrice.c", GOOD)
        self.write("build/compile_commands.json", json.dumps([
            {"directory": self.root, "file": os.path.join(self.root, path),
             "command": f"gcc -I{self.root}/src -c {self.root}/{path}"}
            for path in ("src/base/twice.c", "src/base/thrice.c")]))

    def lint(self):
        done = subprocess.run([sys.executable, os.path.join(self.root, "scripts/lint")], text=True,
                              capture_output=True, check=False, timeout=120)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def assert_line(self, beginning):
        code, output = self.lint()
        self.assertEqual(code, 1, output)
        self.assertTrue(any(line.startswith(beginning) for line in output.splitlines()), output)

    def test_a_clean_project_passes(self):
        code, output = self.lint()
        self.assertEqual(code, 0, output)
        self.assertEqual(output.count(": ok: "), 5, output)

    def test_only_what_has_changed_is_analysed_again(self):
        self.assertIn("2 files, 2 of them analysed again", self.lint()[1])
        self.assertIn("2 files, 0 of them analysed again", self.lint()[1])
        self.write("src/base/twice.h", "int twice(int y);\n")
        self.assertIn("2 files, 1 of them analysed again", self.lint()[1])

    def test_an_error_is_found_again_until_it_is_gone(self):
        self.write("src/base/thrice.c", WRONG)
        self.assert_line("src/base/thrice.c:4: Dereference of null pointer")
        self.assert_line("src/base/thrice.c:4: Dereference of null pointer")

    def test_bad_format_is_found(self):
        self.write("src/base/thrice.c", "int  x;\n")
        self.assert_line("src/base/thrice.c:1: code should be clang-formatted")

    def test_broken_layers_and_ceilings_are_found(self):
        self.write("src/tensor/a.h", "/* " + "a" * 100 + " */\n")
        self.write("src/base/b.h", '#include "tensor/a.h"\n')
        self.assert_line("src/tensor/a.h:1: 106 columns")
        self.assert_line("src/base/b.h:1: \"tensor/a.h\": src/tensor is above")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_careless_shell_is_found(self):
        self.write("scripts/careless", "#!/bin/sh\necho $1\n")
        self.assert_line("scripts/careless:2: Double quote")

    def test_a_missing_build_is_said(self):
        os.remove(os.path.join(self.root, "build/compile_commands.json"))
        self.assert_line("analysis (clang-tidy): FAILED: needs the release build")


if __name__ == "__main__":
    unittest.main()
