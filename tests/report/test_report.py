"""syncopate report as a user meets it: what the page holds, what is refused, and what is never touched.

    test_report.py COMMAND       the program to test; further arguments as unittest takes them
"""
import json
import os
import subprocess
import unittest

import made
from made import METRICS, SIMULATION, MadeRuns, line_of, report, settings_of, summary_of


class Data(MadeRuns):
    def test_the_page_holds_what_the_files_say(self):
        [run] = self.make_data(self.make_run("a"))["runs"]
        self.assertEqual(run["settings"], settings_of())
        self.assertEqual(run["summary"], summary_of())
        self.assertEqual(run["metrics"], METRICS)
        self.assertEqual((run["path"], run["cut"]), (self.path("a"), False))

    def test_a_run_without_summary_has_null(self):
        [run] = self.make_data(self.make_run("a", is_finished=False))["runs"]
        self.assertIsNone(run["summary"])

    def test_a_run_without_metrics_has_no_lines(self):
        os.unlink(self.make_run("a", is_finished=False) + "/metrics.jsonl")
        [run] = self.make_data(self.path("a"))["runs"]
        self.assertEqual((run["metrics"], run["cut"]), ([], False))

    def test_a_run_with_empty_metrics_has_no_lines(self):
        [run] = self.make_data(self.make_run("a", metrics=[], is_finished=False))["runs"]
        self.assertEqual((run["metrics"], run["cut"]), ([], False))

    def check_cut(self, tails):
        """Metrics with such an end are read up to there and marked."""
        folders = [self.make_run(f"run{i}", tail=tail, is_finished=False) for i, tail in enumerate(tails)]
        for tail, run in zip(tails, self.make_data(*folders)["runs"]):
            with self.subTest(tail=tail):
                self.assertEqual((run["metrics"], run["cut"]), (METRICS, True))

    def test_a_line_that_is_cut_off_anywhere_is_left_out_and_marked(self):
        whole = json.dumps(line_of(50))
        self.check_cut([whole[:length] for length in [*range(1, len(whole), 9), len(whole) - 1]])

    def test_a_last_line_without_its_end_is_whole(self):
        self.make_run("a", tail=json.dumps(line_of(50)))
        [run] = self.make_data(self.path("a"))["runs"]
        self.assertEqual((run["metrics"], run["cut"]), ([*METRICS, line_of(50)], False))

    def test_nothing_behind_a_bad_line_is_taken(self):
        bad = ("{\"step\": 5,}", "{\"step\": 01}", "[1]", "nan", "", "{\"a\": \"\t\"}", "{\"a\": \"\\x\"}", "{} {}",
               "[" * 40 + "]" * 40, "{\"a\": 1.}", "{\"a\": \"\\u12g4\"}", "{\"a\" 1}", "\0")
        self.check_cut([line + "\n" + json.dumps(line_of(60)) + "\n" for line in bad])

    def test_no_value_can_end_the_script_element(self):
        evil = "</script><script>alert(1)</script><!-- \u2028 \\ \" ä"
        folder = self.make_run("<b>&", settings=settings_of(data_dir=evil), metrics=[line_of(10, note=evil)])
        text = self.make_page(folder)
        [run] = self.make_data(folder)["runs"]
        self.assertEqual(run["settings"]["data_dir"], evil)
        self.assertEqual(run["metrics"][0]["note"], evil)
        self.assertEqual(run["path"], folder)
        self.assertEqual(text.count("</script>"), 2)  # the data's and the script's own
        self.assertNotIn("alert(1)</", text)

    def test_the_page_names_no_other_place(self):
        text = self.make_page(self.make_run("a"))
        for word in ("https:", "src=", "@import", "url(http"):
            self.assertNotIn(word, text)
        self.assertEqual(text.count("http:"), 1)  # the name of SVG's elements
        self.assertIn("default-src 'none'", text)

    def test_a_simulation_is_taken_as_it_is(self):
        path = self.write("figures.json", json.dumps(SIMULATION))
        [entry] = self.make_data(path)["runs"]
        self.assertEqual(entry, {"path": path, "simulation": SIMULATION})


class Output(MadeRuns):
    def test_it_is_report_html_unless_named_and_the_name_is_told(self):
        done = report(self.make_run("a"), cwd=self.home)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "report.html\n", ""))
        self.assertTrue(os.path.isfile(self.path("report.html")))
        for flags in (["-o", "x.html"], ["--output", "y.html"], ["--output=z.html"]):
            self.assertEqual(report(*flags, "a", cwd=self.home).stdout.strip(), flags[-1].split("=")[-1])

    def test_bad_input_is_one_line_and_code_2_and_nothing_is_written(self):
        good = self.make_run("good")
        empty = self.path("empty")
        os.mkdir(empty)
        self.make_run("broken")
        self.write("broken/settings.json", "{\"model\": ")
        self.make_run("nothing-set")
        self.write("nothing-set/settings.json", "")
        self.make_run("listed")
        self.write("listed/summary.json", "[]")
        os.unlink(self.make_run("piped") + "/metrics.jsonl")
        os.mkfifo(self.path("piped/metrics.jsonl"))
        text = self.write("words.txt", "hello\n")
        kind = self.write("kind.json", "{\"kind\": \"recipe\"}")
        wrong = [{**SIMULATION, "charts": charts} for charts in (
            [], {}, [{"label": "a", "series": [{"name": "b", "points": [[0, 1]]}]}],
            [{"label": "a", "series": [{"name": "b", "points": [[-1, 1]]}]}],
            [{"label": "a", "series": [{"name": "b", "points": [[1]]}]}],
            [{"label": "a", "series": [{"name": "b", "points": [[1, 2, 3]]}]}],
            [{"label": "a", "series": [{"name": "b", "points": [[1, "2"]]}]}],
            [{"label": "a", "series": [{"name": 1, "points": [[1, 2]]}]}], [{"series": []}])]
        wrong += [{**SIMULATION, "title": 1}, {**SIMULATION, "x": []}]
        files = [self.write(f"wrong{i}.json", json.dumps(one)) for i, one in enumerate(wrong)]
        cases = [[], [empty], [good, empty], [self.path("nothing")], [self.path("broken")], [self.path("listed")],
                 [self.path("nothing-set")],
                 [self.path("piped")], [text], [kind], ["/dev/null"], [good, "--colour"], [good, "--port", "70000"],
                 [good, "--output="], *[[path] for path in files]]
        for words in cases:
            with self.subTest(words=words):
                done = report(*words, *([] if "--output=" in words else ["-o", self.page]))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(done.stderr.startswith("syncopate: "), done.stderr)
                self.assertEqual((done.stderr.count("\n"), done.stdout), (1, ""), done.stderr)
                self.assertFalse(os.path.exists(self.page))
                self.assertEqual([name for name in os.listdir(self.home) if name.endswith(".part")], [])

    def test_a_place_that_cannot_be_written_is_said_and_left_as_it_is(self):
        good = self.make_run("a")
        os.mkdir(self.path("folder"))
        for place in (self.path("folder"), self.path("no/such/page.html"), "/dev/null", "/dev/null/page.html"):
            with self.subTest(place=place):
                done = report(good, "-o", place)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertFalse(os.path.isfile("/dev/null"))
        self.assertEqual(os.listdir(self.path("folder")), [])

    def test_a_page_that_was_there_stays_when_a_run_is_refused(self):
        before = self.make_page(self.make_run("a"))
        self.assertEqual(report(self.path("nothing"), "-o", self.page).returncode, 2)
        with open(self.page, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)

    def test_help_tells_the_flags(self):
        done = report("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--output", "-o", "--follow", "--port", "RUN..."):
            self.assertIn(word, done.stdout)

    def test_a_real_run_is_read(self):
        folder = self.path("real")
        done = subprocess.run([made.COMMAND, "train", "--model", "mlp", "--data", "synthetic", "--synthetic-examples",
                               "600", "--threads", "1", "--workers", "2", "--algo", "gtopk", "--epochs", "1",
                               "--log-every", "2", "--out", folder], capture_output=True, text=True, timeout=100,
                              check=False)
        if "no command" in done.stderr:
            self.skipTest("built without the engine")
        self.assertEqual(done.returncode, 0, done.stderr)
        [run] = self.make_data(folder)["runs"]
        with open(folder + "/metrics.jsonl", encoding="utf-8") as file:
            self.assertEqual(run["metrics"], [json.loads(line) for line in file])
        first = run["metrics"][0]
        for field in ("compute_ms", "select_ms", "encode_ms", "exchange_ms", "wait_ms", "update_ms", "bytes_out",
                      "bytes_in", "density", "threshold", "residual_norm"):
            self.assertIn(field, first)
        self.assertLessEqual(first["select_ms"] + first["encode_ms"] + first["wait_ms"], first["update_ms"] * 1.001)


if __name__ == "__main__":
    made.take_command()
    unittest.main()
