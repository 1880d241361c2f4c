"""The documents name everything that the tables of parts have, and what they link to is there."""
import glob
import os
import re
import unittest

from project import ROOT

PARTS = "include/syncopate/parts/"  # rows that have settings
LISTS = ("src/recipe/recipes", PARTS + "residuals", PARTS + "selects", "src/codec/values", "src/codec/indices",
         PARTS + "exchanges", PARTS + "schedules", PARTS + "stores", PARTS + "locals",
         PARTS + "optimizers")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Documents(unittest.TestCase):
    def test_methods_has_every_recipe_and_part(self):
        methods = read("docs/methods.md")
        for name in LISTS:
            for row in re.findall(r"SYN_PART\((\w+)", read(f"{name}.def")):
                shown = re.sub("^local_", "", row).replace("_", "-")
                self.assertTrue(f"`{shown}`" in methods or f"**{shown}**" in methods, f"{shown} of {name}.def")

    def test_links_between_documents_lead_somewhere(self):
        for path in glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md")):
            with open(path, encoding="utf-8") as file:
                links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read())
            for link in links:
                target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                self.assertTrue(os.path.exists(target), f"{os.path.relpath(path, ROOT)}: {link}")

    def test_scripts_refer_to_documents_that_are_there(self):
        for path in glob.glob(os.path.join(ROOT, "scripts", "*")) + [os.path.join(ROOT, ".clang-tidy")]:
            if os.path.isfile(path):
                for name in re.findall(r"\bdocs/[\w-]+\.md", read(path)):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, name)), f"{os.path.relpath(path, ROOT)}: {name}")


if __name__ == "__main__":
    unittest.main()
