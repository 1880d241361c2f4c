"""The reference of the public headers is made without a warning, from plain comments."""
import os
import subprocess
import sys
import unittest

from project import ROOT, ProjectTest

TOOL = os.path.join(ROOT, "scripts", "reference")


class Reference(ProjectTest):
    def converted(self, text):
        self.write("a.h", "/* A file. */\n" + text)
        done = subprocess.run([sys.executable, TOOL, os.path.join(self.root, "a.h")], check=True, cwd=ROOT,
                              capture_output=True, text=True, timeout=60)
        beginning = "/**\n * @file\n * A file.\n */\n"
        self.assertTrue(done.stdout.startswith(beginning), done.stdout)
        return done.stdout[len(beginning):]

    def test_rows_are_parameters_if_the_declaration_has_them(self):
        self.assertEqual(self.converted("/* Add.\n *   a     first,\n *         or none\n *   name  no parameter\n"
                                        " * Blocks. */\nint add(int a, int b);\n"),
                         "/**\n * Add.\n * @param a first,\n *         or none\n * - <tt>name</tt>: no parameter\n *\n"
                         " * Blocks.\n */\nint add(int a, int b);\n")

    def test_a_comment_is_that_of_all_declarations_below_it(self):
        self.assertEqual(self.converted("/* Both. */\nvoid one(void);\nvoid two(void);\n\nvoid three(void);\n"),
                         "/**\n * Both.\n */\nvoid one(void);\n/**\n * Both.\n */\nvoid two(void);\n\nvoid three(void);\n")

    def test_code_stays_and_text_has_no_commands(self):
        self.assertEqual(self.converted("/* As <a@b>:\n *\n *     x = \\n & y; */\nint x;\n"),
                         "/**\n * As \\<a\\@b\\>:\n *\n * @code{.unparsed}\n *     x = \\n & y;\n * @endcode\n */\nint x;\n")

    def test_fields_have_the_comment_behind_them_and_options_their_help(self):
        after = self.converted("struct s {\n    int a; /* of two\n            * lines */\n#define SYN_SETTING SYN_SETTING_FIELD\n"
                               "#include <syncopate/group_options.def>\n#undef SYN_SETTING\n};\n")
        self.assertIn("    int a; /**< of two lines */\n    uint64_t timeout_ms; /**< wait this long", after)

    def test_all_headers_without_a_warning(self):
        done = subprocess.run([sys.executable, TOOL], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", "build/reference/index.html\n"))
        with open(os.path.join(ROOT, "build", "reference", "worker_8h.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("syn_worker_step", page)
        self.assertIn("get the weights to compute the next one at", page)


if __name__ == "__main__":
    unittest.main()
