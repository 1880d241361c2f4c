"""A little project in a temporary folder, for the tests of the tools that check ours."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class ProjectTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_tool(self, name):
        """Exit code and output of one of scripts/ on the little project."""
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", name), self.root],
                              capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def assert_clean(self, name):
        self.assertEqual(self.run_tool(name), (0, ""))

    def assert_found(self, name, *expected):
        """The tool fails, and each of expected begins one of its lines; there are no others."""
        code, output = self.run_tool(name)
        lines = output.splitlines()
        self.assertEqual(code, 1, output)
        self.assertEqual(len(lines), len(expected), output)
        for line, beginning in zip(lines, expected):
            self.assertTrue(line.startswith(beginning), f"{line}\ndoes not begin with\n{beginning}")


def without_root(*words):
    """Exit code and output, errors included, of a command run by somebody who is not root; skips the test where such a
    user may not see this folder."""
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=60, **nobody)
    except PermissionError as refused:
        raise unittest.SkipTest(f"who is not root may not run {words[0]}") from refused
    return done.returncode, done.stdout
