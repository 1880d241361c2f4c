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


def anchors(path):
    """Those of a document's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)", read(path), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings]


class Documents(unittest.TestCase):
    def test_methods_has_every_recipe_and_part(self):
        methods = read("docs/methods.md")
        for name in LISTS:
            for row in re.findall(r"SYN_PART\((\w+)", read(f"{name}.def")):
                shown = re.sub("^local_", "", row).replace("_", "-")
                self.assertTrue(f"`{shown}`" in methods or f"**{shown}**" in methods, f"{shown} of {name}.def")

    def test_links_between_documents_lead_somewhere(self):
        for path in glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md")):
            for link, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", read(path)):
                target = os.path.normpath(os.path.join(os.path.dirname(path), link)) if link else path
                where = f"{os.path.relpath(path, ROOT)}: {link}#{anchor}"
                self.assertTrue(os.path.exists(target), where)
                if anchor and target.endswith(".md"):
                    self.assertIn(anchor, anchors(target), where)

    def test_scripts_refer_to_documents_that_are_there(self):
        for path in glob.glob(os.path.join(ROOT, "scripts", "*")) + [os.path.join(ROOT, ".clang-tidy")]:
            if os.path.isfile(path):
                for name in re.findall(r"\bdocs/[\w-]+\.md", read(path)):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, name)), f"{os.path.relpath(path, ROOT)}: {name}")

    def test_walks_are_in_the_code_and_counted_rightly(self):
        walks = read("docs/architecture.md").split("### Two walks")[1].split("\n## ")[0]
        tables = re.findall(r"((?:\| `\w+`.*\|\n)+)\n(\d+) crossings, (\d+) of them turn-backs", walks)
        self.assertEqual(len(tables), 2)
        for rows, crossings, turns in tables:
            folders = re.findall(r"^\| `(\w+)`", rows, re.M)
            self.assertEqual(int(crossings), len(folders) - 1)
            self.assertEqual(int(turns), len(folders) - len(set(folders)))
            self.assertEqual(int(turns), rows.count("↩"))
            for before, after in zip(folders, folders[1:]):
                self.assertNotEqual(before, after)
            for folder, functions in re.findall(r"^\| `(\w+)`(?: ↩)? \| (.*) \|$", rows, re.M):
                self.check_functions(folder if folder == "engine" else f"src/{folder}", functions)

    def check_functions(self, folder, text):
        """Each file named in brackets has the functions named before it."""
        for names, file in re.findall(r"((?:(?!\(`).)*)\(`([\w/.]+)`\)", text):
            code = read(f"{folder}/{file}")
            for name in re.findall(r"`(\w+)`", names):
                self.assertRegex(code, rf"(?m)^[\w \*]*\b{name}\(", f"{folder}/{file}")


if __name__ == "__main__":
    unittest.main()
