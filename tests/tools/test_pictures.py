"""The pictures of the documents are what their texts say, and the layers drawn are those that are checked."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

from project import ROOT

PICTURES = os.path.join(ROOT, "docs", "pictures")
TOOL = os.path.join(ROOT, "scripts", "draw")


def script(name):
    """One of scripts/ as a module."""
    path = os.path.join(ROOT, "scripts", name)
    sys.path.insert(0, os.path.dirname(path))
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def read(name):
    with open(os.path.join(PICTURES, name), encoding="utf-8") as file:
        return file.read()


class Pictures(unittest.TestCase):
    def test_each_is_what_its_text_says(self):
        done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_each_is_well_formed_and_has_light_and_dark_colours(self):
        names = [name for name in os.listdir(PICTURES) if name.endswith(".svg")]
        self.assertEqual(sorted(names), ["gradient.svg", "layers.svg", "servers.svg", "steps.svg"])
        for name in names:
            self.assertTrue(xml.fromstring(read(name)).tag.endswith("svg"))
            self.assertIn("prefers-color-scheme: dark", read(name))

    def test_every_picture_is_in_the_documents(self):
        documents = ""
        for folder in (ROOT, os.path.join(ROOT, "docs")):
            for name in os.listdir(folder):
                if name.endswith(".md"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        documents += file.read()
        for name in os.listdir(PICTURES):
            if name.endswith(".svg"):
                self.assertTrue(f"pictures/{name}" in documents, name)

    def test_the_layers_are_those_that_check_layers_checks(self):
        below = read("layers.txt").split("\nbar ")[0]
        rows = [tuple(re.findall(r"(?:^row|\|) *([\w-]+):", line)) for line in below.split("\n") if line.startswith("row")]
        self.assertEqual(tuple(rows), script("check-layers").LAYERS)

    def test_text_stays_inside_its_box(self):
        draw = script("draw")
        for words in ("iiiiiiiiii " * 9, "WWWW WWWW " * 9):
            for line in draw.wrapped(words, 200):
                self.assertLessEqual(len(line) * draw.LETTER, 200)


if __name__ == "__main__":
    unittest.main()
