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
        subprocess.run([sys.executable, tool, path], check=True, capture_output=True, timeout=60)
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
