"""scripts/check-ceilings finds what is too long, too large or unfinished, and nothing else."""
import subprocess
import unittest

from project import ProjectTest

TOOL = "check-ceilings"


def function(lines, head="static int f(void)"):
    """A C function of so many lines, signature and braces included."""
    return "\n".join([head, "{"] + ["    g();"] * (lines - 3 - head.count("\n")) + ["}", ""])


class Ceilings(ProjectTest):
    def test_what_is_just_short_enough_is_accepted(self):
        self.write("src/a.c", "x\n" * 500)
        self.write("src/b.c", "/* f */\n" + function(60) + "\n" + function(60, "int\nh(void)"))
        self.write("src/c.h", "y" * 100 + "\n")
        self.write("tool.py", "z = 1\n" * 500)
        self.assert_clean(TOOL)

    def test_long_files_are_found_in_every_language(self):
        for path in ("src/a.c", "include/syncopate/a.h", "tests/a.c", "rows.def", "tool.py"):
            self.write(path, "x\n" * 501)
        self.write("scripts/run", "#!/usr/bin/env bash\n" + "x\n" * 500)
        self.write("scripts/see", "#!/usr/bin/env python3\n" + "x\n" * 500)
        self.assert_found(TOOL, *(f"{path}:501: a file of 501 lines" for path in sorted(
            ["src/a.c", "include/syncopate/a.h", "tests/a.c", "rows.def", "tool.py", "scripts/run",
             "scripts/see"])))

    def test_documents_and_data_may_be_long(self):
        self.write("docs/a.md", "words " * 50 + "\n" * 600)
        self.write("docs/b.csv", "1,2\n" * 600)
        self.assert_clean(TOOL)

    def test_a_long_function_is_found_at_its_signature(self):
        self.write("src/a.c", "int x;\n\n" + function(61, "static int f(int a,\n             int b)"))
        self.assert_found(TOOL, "src/a.c:3: a function of 61 lines; at most 60")

    def test_the_second_of_two_functions_is_measured_alone(self):
        self.write("src/a.c", function(40) + "\n" + function(61) + "\n" + function(40))
        self.assert_found(TOOL, "src/a.c:42: a function of 61 lines")

    def test_a_table_is_no_function(self):
        self.write("src/a.c", "const int a[] = {\n" + "    1,\n" * 100 + "};\n")
        self.assert_clean(TOOL)

    def test_functions_of_tests_may_be_longer(self):
        self.write("tests/a.c", function(100))
        self.assert_clean(TOOL)

    def test_wide_lines_are_found(self):
        self.write("src/a.c", "int x;\n" + "y" * 101 + "\n")
        self.write("tests/b.h", "z" * 150 + "\n")
        self.assert_found(TOOL, "src/a.c:2: 101 columns; at most 100", "tests/b.h:1: 150 columns")

    def test_columns_are_characters_not_bytes(self):
        self.write("src/a.c", "/* " + "τ" * 94 + " */\n")
        self.assert_clean(TOOL)

    def test_unfinished_work_is_found_in_code(self):
        self.write("src/a.c", "/* TO" "DO: more */\n")
        self.write("scripts/b", "#!/bin/sh\n# FIX" "ME\n")
        self.write("CMakeLists.txt", "# X" "XX\n")
        self.write("src/c.c", "char name[] = \"/tmp/a.XXXXXX\";\n")
        self.assert_found(TOOL, "CMakeLists.txt:1: ", "scripts/b:2: ", "src/a.c:1: ")

    def test_large_files_are_found(self):
        self.write("docs/picture.bin", "x" * ((1 << 20) + 1))
        self.write("docs/small.bin", "x" * (1 << 20))
        self.assert_found(TOOL, "docs/picture.bin:1: a file of 1048577 bytes; at most 1048576")

    def test_what_git_ignores_is_left_alone(self):
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write(".gitignore", "/out/\n")
        self.write("out/a.c", "x\n" * 600)
        self.write("src/new.c", "y" * 101 + "\n")
        self.assert_found(TOOL, "src/new.c:1: 101 columns")

    def test_without_git_builds_are_left_alone(self):
        self.write("build-dev/a.c", "x\n" * 600)
        self.assert_clean(TOOL)


if __name__ == "__main__":
    unittest.main()
