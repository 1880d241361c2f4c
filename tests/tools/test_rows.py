"""A new part is one file and one row: CONTRIBUTING's table of kinds, tried in a copy of the tree.

Each new part is a copy of one that is there, under the name "probe". All of them are built together, once, without optimising; then
the command lists them and trains with them."""
import json
import os
import re
import shutil
import subprocess
import unittest

import project

CORE, ENGINE = "include/syncopate/parts", "include/syncopate/engine/parts"

# kind: the file that is copied, the new one, and the list.
KINDS = {
    "recipe": ("src/recipe/topk.c", "src/recipe/probe.c", "src/recipe/recipes.def"),
    "schedule": ("src/schedule/od.c", "src/schedule/probe.c", f"{CORE}/schedules.def"),
    "store": ("src/worker/replicas.c", "src/worker/probe.c", f"{CORE}/stores.def"),
    "local": ("src/optim/local_sgd.c", "src/optim/local_probe.c", f"{CORE}/locals.def"),
    "optimizer": ("src/optim/sgd.c", "src/optim/probe.c", f"{CORE}/optimizers.def"),
    "residual": ("src/residual/feedback.c", "src/residual/probe.c", f"{CORE}/residuals.def"),
    "select": ("src/select/topk.c", "src/select/probe.c", f"{CORE}/selects.def"),
    "values": ("src/codec/f16.c", "src/codec/probe.c", "src/codec/values.def"),
    "indices": ("src/codec/raw.c", "src/codec/probe_index.c", "src/codec/indices.def"),
    "exchange": ("src/exchange/gtopk.c", "src/exchange/probe.c", f"{CORE}/exchanges.def"),
    "transport": ("src/transport/threads.c", "src/transport/probe.c", "src/transport/transports.def"),
    "data set": ("engine/data/synthetic.c", "engine/data/probe.c", f"{ENGINE}/sets.def"),
    "model": ("engine/nn/models/mlp.c", "engine/nn/models/probe.c", "engine/nn/models/models.def"),
    "layer": ("engine/nn/layers/dropout.c", "engine/nn/layers/probe.c", "engine/nn/layers/layers.def"),
    "learning-rate schedule": ("engine/train/options/lr_constant.c", "engine/train/options/lr_probe.c", f"{ENGINE}/lr_schedules.def"),
    "subcommand": ("apps/syncopate/list.c", "apps/syncopate/probe.c", "apps/syncopate/commands.def"),
    "bench": ("apps/syncopate/bench_codec.c", "apps/syncopate/bench_probe.c", "apps/syncopate/benches.def"),
}
# Kinds that are a row and no file: the list, and the row.
ROWS = {
    "setting": (f"{CORE}/selects.def", 'SYN_SETTING(REAL, probe_rate, "0.5", 0, 1, NULL, "tell a probe from others")'),
    "preset": ("engine/train/options/presets.def", 'SYN_PRESET("probe", "data=probe batch=8 steps=2 lr=0.1")'),
}
LISTED = ("recipe", "schedule", "store", "local", "optimizer", "residual", "select", "values", "indices", "exchange", "transport")

OPENS = """
#include <syncopate/group.h>
int main(void)
{
    struct syn_group *groups[2];
    struct syn_group_place place = {.workers = 2};
    return syn_group_open("probe", &place, NULL, groups) != SYN_OK || syn_group_transport(groups[0])[0] != 'p';
}
"""


def row_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def renamed(text, old, new):
    """The text of a part under another row, called "probe"."""
    symbol = re.search(rf"(?m)^const struct \w+ (\w*{old}) = ", text).group(1)
    text = re.sub(rf"\b{symbol}\b", symbol[:len(symbol) - len(old)] + new, text)
    short = re.sub("^(local|lr|bench)_", "", old)
    return re.sub(rf'(\{{|\.name = )"{short}"', r'\1"probe"', text)


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (shutil.which("cmake") and os.path.exists("/usr/include/oneapi/dnnl/dnnl.h")):
            raise unittest.SkipTest("CMake or oneDNN is not installed")
        project.ProjectTest.setUp(cls)
        cls.copy = os.path.join(cls.root, "tree")
        files = subprocess.run(["git", "-C", project.ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True,
                               check=True).stdout.split()
        for path in files:
            if path.startswith(("src/", "engine/", "include/", "apps/", "cmake/", "examples/", "packaging/", "CMakeLists", "LICENSE")):
                os.makedirs(os.path.dirname(os.path.join(cls.copy, path)), exist_ok=True)
                shutil.copy(os.path.join(project.ROOT, path), os.path.join(cls.copy, path))
        for old, new, table in KINDS.values():
            cls.add(new, renamed(cls.read(old), row_of(old), row_of(new)))
            cls.add(table, f"SYN_PART({row_of(new)})\n")
        for table, row in ROWS.values():
            cls.add(table, row + "\n")
        cls.add("opens.c", OPENS)
        cls.add("src/select/forgotten.c", renamed(cls.read("src/select/all.c"), "all", "forgotten"))
        cls.built = cls.build()

    @classmethod
    def addCleanup(cls, function, *arguments):
        cls.addClassCleanup(function, *arguments)

    @classmethod
    def read(cls, path):
        with open(os.path.join(cls.copy, path), encoding="utf-8") as file:
            return file.read()

    @classmethod
    def add(cls, path, text):
        with open(os.path.join(cls.copy, path), "a", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def build(cls):
        """What configuring and compiling said, both to their end."""
        build = os.path.join(cls.copy, "build")
        flags = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DSYNCOPATE_MPI=OFF", "-DSYNCOPATE_PYTHON_PACKAGE=OFF",
                 "-DSYNCOPATE_REPORT=OFF"]
        said = ""
        for words in (["cmake", "-S", cls.copy, "-B", build, *flags],
                      ["cmake", "--build", build, "--target", "syncopate-command", "-j", str(os.cpu_count())],
                      ["cc", "-I", f"{cls.copy}/include", f"{cls.copy}/opens.c", f"{build}/src/libsyncopate.a", "-lm", "-lpthread",
                       "-o", f"{build}/opens"]):
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
            said += done.stdout
            if done.returncode != 0:
                raise AssertionError(said[-6000:])
        return said

    def command(self, *words):
        """Standard output of the command, which ends well."""
        done = subprocess.run([os.path.join(self.copy, "build/syncopate"), *words], capture_output=True, text=True, check=False,
                              timeout=120, cwd=self.copy)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def train(self, *flags):
        self.command("train", "--model", "probe", "--workers", "2", "--synthetic-examples", "64", "--threads", "1", "--out",
                     os.path.join(self.copy, "run"), "--overwrite", *flags)
        with open(os.path.join(self.copy, "run/settings.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_each_part_is_listed(self):
        rows = [json.loads(line) for line in self.command("list", "--json").splitlines()]
        listed = {row["kind"] for row in rows if row["name"] == "probe"}
        self.assertEqual(sorted(listed), sorted(LISTED))

    def test_a_model_trains_with_a_data_set_a_preset_and_all_parts_of_a_sparse_method(self):
        settings = self.train("--lr-schedule", "probe", "--optimizer", "probe", "--select", "probe", "--exchange", "probe",
                              "--residual", "probe", "--values", "probe", "--indices", "probe", "--store", "probe",
                              "--probe-rate", "0.25", "--density", "0.01")
        self.assertIn('"probe"', json.dumps(settings))
        self.assertIn("0.25", json.dumps(settings))

    def test_a_schedule_a_local_update_and_a_recipe_train(self):
        self.train("--schedule", "probe", "--optimizer-local", "probe")
        self.train("--algo", "probe")

    def test_a_transport_is_opened_by_its_name(self):
        subprocess.run([os.path.join(self.copy, "build/opens")], check=True, timeout=60)

    def test_subcommands_and_benches_run(self):
        self.assertIn("gtopk", self.command("probe"))
        self.assertIn("entries", self.command("bench", "probe", "--n", "10000"))

    def test_a_part_without_a_row_is_named_and_not_compiled(self):
        self.assertIn("no row SYN_PART(forgotten) names it", " ".join(self.built.split()))

    def test_contributing_has_every_kind(self):
        with open(os.path.join(project.ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
            text = file.read()
        for kind, (_, _, table) in KINDS.items():
            self.assertRegex(text, rf"(?m)^\| {kind} \|.*`{re.escape(table)}`")
        for kind, (table, _) in ROWS.items():
            self.assertRegex(text, rf"(?m)^\| {kind} \|")


if __name__ == "__main__":
    unittest.main()
