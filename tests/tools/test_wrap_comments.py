"""scripts/wrap-comments breaks what is too long, and leaves everything else as it is."""
import os
import subprocess
import sys

from project import ROOT, ProjectTest

WORDS = "the quick brown fox jumps over the lazy dog and "


class WrapComments(ProjectTest):
    def wrapped(self, text):
        self.write("a.c", text)
        path = os.path.join(self.root, "a.c")
        tool = os.path.join(ROOT, "scripts", "wrap-comments")
        done = subprocess.run([sys.executable, tool, path], capture_output=True, timeout=60, text=True)
        self.code, self.errors = done.returncode, done.stderr
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_a_long_line_is_broken_and_says_the_same(self):
        for length in range(90, 106):
            comment = "/* " + (WORDS * 3)[:length].rstrip() + ". */\nint x;\n"
            after = self.wrapped(comment)
            self.assertTrue(all(len(line) <= 100 for line in after.split("\n")), after)
            self.assertEqual(after.replace("\n * ", " "), comment)
            self.assertEqual(self.wrapped(after), after)

    def test_the_whole_paragraph_is_filled(self):
        after = self.wrapped(f"/* {WORDS * 2}cats\n * and mice. */\n")
        self.assertEqual(after, f"/* {WORDS * 2}".rstrip() + "\n * cats and mice. */\n")

    def test_rows_and_other_paragraphs_stay(self):
        rows = " *   gradient  read until wait returns\n *   ticket    set on success only\n"
        after = self.wrapped(f"/* {WORDS * 2}and cats.\n{rows} *\n * Short.\n * Shorter. */\n")
        self.assertIn(rows, after)
        self.assertTrue(after.endswith("\n *\n * Short.\n * Shorter. */\n"), after)

    def test_a_long_row_hangs_from_its_text(self):
        after = self.wrapped(f"/* Short.\n *   ticket  {WORDS * 2} */\n")
        self.assertEqual(after.split("\n")[2][:13], " *           ")

    def test_what_is_short_enough_is_not_touched(self):
        text = "/* one\n * two\n\n   three */\nint x; /* " + "y" * 100 + " */\n"
        self.assertEqual(self.wrapped(text), text)

    def test_code_between_comments_is_not_touched(self):
        text = "/* one */ int x = 1; /* " + WORDS * 3 + " */\n"
        self.assertEqual(self.wrapped(text), text)

    def test_code_formulas_and_tables_are_never_filled(self):
        laid_out = (
            " *     static const struct syn_setting rows[] = {\n *     #include \"my_options.def\"\n *     };\n",
            " *   v -= lr * (alpha*g + beta*G + wd*v)\n *   before there are two snapshots, G is zero\n",
            " *     0 magic    1 forms\n *     2 bucket   3 size\n",
        )
        for lines in laid_out:
            for long in ("", f" *     {WORDS * 3}\n".replace(" \n", "\n")):  # a long line of text, or one among them
                comment = f"/* {WORDS * 2}cats.\n *\n{lines}{long} *\n * Short. */\n"
                after = self.wrapped(comment)
                self.assertIn(lines + long, after)
                self.assertEqual(self.code, 1 if long else 0)

    def test_each_row_stays_a_row_beside_a_long_one(self):
        rows = " *   lr        this step's learning rate\n", " *   gradient  [size], finite"
        after = self.wrapped(f"/* Short.\n{rows[0]} *   scale     {WORDS * 2}\n{rows[1]} */\n")
        self.assertIn(rows[0], after)
        self.assertIn("\n" + rows[1], after)
        self.assertEqual(self.code, 0)

    def test_text_with_a_formula_between_two_spaces_is_left_to_its_writer(self):
        text = f"/* {WORDS * 2}follow  u = mu*u + g;  v = v + u. */\n"
        self.assertEqual(self.wrapped(text), text)
        self.assertIn("a.c:1: longer than 100 columns", self.errors)
        self.assertEqual(self.code, 1)
