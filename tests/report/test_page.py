"""The page of syncopate report in headless Chromium: it complains of nothing, draws every chart, and its numbers
are those of the runs' files.

    test_page.py COMMAND       the program to test; further arguments as unittest takes them
"""
import json
import os
import unittest

import browser
import made
from made import METRICS, SIMULATION, MadeRuns, line_of, settings_of, summary_of, tested
from test_follow import Server

SLOW = [line_of(step, bytes_out=2000.0, compute_ms=9.0, density=1.0, threshold=0, residual_norm=0)
        for step in (10, 20, 30, 40, 50)] + [tested(50, 0.95)]


class Pages(MadeRuns):
    @classmethod
    def setUpClass(cls):
        if not browser.PROGRAM:
            raise unittest.SkipTest("chromium is not installed")
        cls.browser = browser.Browser().__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, address, **how):
        page = self.browser.open(address, **how)
        self.addCleanup(page.close)
        return page

    def show(self, *words, **how):
        self.make_page(*words)
        return self.open("file://" + self.page, **how)

    def make_two(self):
        """A finished run and another that is not; 4 and 5 lines of training, 2 and 1 of tests."""
        return [self.make_run("gtopk"),
                self.make_run("ssgd", settings=settings_of(algo="ssgd", lr=0.2), metrics=SLOW, is_finished=False)]

    def lines(self, page, chart):
        """{(run, whether it is of training): [points, last point]} of a chart."""
        found = page.evaluate(f"""[...document.querySelectorAll('figure[data-chart="{chart}"] path.line')].map(path =>
            [path.dataset.run, path.classList.contains('faint'), +path.dataset.points, JSON.parse(path.dataset.last)])""")
        return {(run, faint): [points, last] for run, faint, points, last in found}

    def rows(self, page, table):
        return page.evaluate(f"""[...document.querySelectorAll('table[data-table="{table}"] tbody tr')].map(row =>
            [...row.cells].map(cell => cell.dataset.value === undefined ? cell.innerText : cell.dataset.value))""")

    def choose(self, page, axis):
        page.evaluate(f"document.querySelector('input[value={axis}]').click()")
        page.settle()


class Numbers(Pages):
    def test_the_summary_table_says_what_the_summary_says(self):
        page = self.show(*self.make_two())
        got, unfinished = self.rows(page, "summary")
        says = summary_of()
        fields = ("test_accuracy", "train_loss", "ms_per_step", "images_per_s", "bytes_out_per_step",
                  "ratio_to_dense", "steps", "seconds")
        self.assertEqual([float(cell) for cell in got[1:]], [says[field] for field in fields])
        self.assertIn("not finished: step 50", unfinished[0])
        self.assertEqual([float(cell) for cell in unfinished[1:4]], [0.95, 2 / 50, 20.0])

    def test_learning_is_drawn_with_every_point(self):
        page = self.show(*self.make_two())
        self.assertEqual(page.errors, [])
        self.assertEqual(self.lines(page, "loss"), {
            ("gtopk", True): [4, [2.0, 0.05]], ("gtopk", False): [2, [2.01, 1 - 0.98125]],
            ("ssgd", True): [5, [2.5, 0.04]], ("ssgd", False): [1, [2.51, 1 - 0.95]]})
        accuracy = self.lines(page, "accuracy")
        self.assertEqual(accuracy[("gtopk", False)], [2, [2.01, 98.125]])
        self.assertEqual(accuracy[("ssgd", True)], [5, [2.5, 98.0]])

    def test_the_x_axis_can_be_steps_and_bytes(self):
        page = self.show(*self.make_two())
        self.choose(page, "steps")
        self.assertEqual(self.lines(page, "loss")[("ssgd", True)], [5, [50, 0.04]])
        self.choose(page, "bytes")
        lines = self.lines(page, "loss")
        self.assertEqual(lines[("gtopk", True)], [4, [40, 0.05]])  # 40 steps of 1 kB each
        self.assertEqual(lines[("ssgd", True)], [5, [100, 0.04]])
        axes = page.evaluate("document.querySelector('figure[data-chart=loss] svg').textContent")
        self.assertIn("sent by a worker, kB", axes)

    def test_the_bars_add_up_to_the_step(self):
        page = self.show(*self.make_two())
        parts = dict(page.evaluate("""[...document.querySelectorAll(
            'figure[data-chart=times] g[data-run=gtopk] rect[data-part]')].map(part => [part.dataset.part, +part.dataset.value])"""))
        self.assertEqual(parts, {"data": 0.5, "compute": 8, "select": 3, "encode": 0.25, "wait": 7, "update": 1.25,
                                 "exchange": 9})
        self.assertEqual(sum(parts.values()) - parts["exchange"], 20)
        self.assertEqual(page.evaluate("document.querySelectorAll('figure[data-chart=times] g[data-run]').length"), 2)
        self.assertEqual(page.evaluate("document.querySelectorAll('figure[data-chart=strip]').length"), 2)

    def test_density_threshold_and_residual_are_drawn_for_those_that_have_them(self):
        page = self.show(*self.make_two())
        self.assertEqual(self.lines(page, "density"),
                         {("gtopk", False): [4, [2, 0.01]], ("ssgd", False): [5, [2.5, 1]]})
        self.assertEqual(self.lines(page, "threshold"), {("gtopk", False): [4, [2, 0.002]]})
        self.assertEqual(self.lines(page, "residual_norm"), {("gtopk", False): [4, [2, 4]]})
        self.assertTrue(page.evaluate("document.querySelector('figure[data-chart=staleness_mean]').hidden"))

    def test_settings_that_differ_are_told_and_no_others(self):
        page = self.show(*self.make_two())
        self.assertEqual(self.rows(page, "settings"), [["algo", "gtopk", "ssgd"], ["lr", "0.1", "0.2"]])

    def test_runs_of_different_models_are_apart(self):
        page = self.show(*self.make_two(), self.make_run("other", settings=settings_of(model="mlp")))
        self.assertEqual(page.evaluate("[...document.querySelectorAll('section h2')].map(head => head.textContent)"),
                         ["lenet on mnist", "mlp on mnist"])
        self.assertEqual(page.evaluate("document.querySelectorAll('section:last-of-type table[data-table=summary] "
                                       "tbody tr').length"), 1)

    def test_a_cut_run_is_marked(self):
        page = self.show(self.make_run("killed", tail='{"step": 50, "lo', is_finished=False))
        self.assertIn("not finished: its metrics are cut off after step 40", self.rows(page, "summary")[0][0])
        self.assertEqual(self.lines(page, "loss")[("killed", True)][0], 4)

    def test_runs_with_little_in_them_are_shown_without_complaint(self):
        alone = [{key: value for key, value in line_of(10).items()
                  if key not in ("bytes_out", "density", "threshold", "residual_norm", "wait_ms")}]
        page = self.show(self.make_run("empty", metrics=[], is_finished=False), self.make_run("alone", metrics=alone),
                         self.make_run("odd", metrics=[{"step": "x"}, line_of(10, loss=None), line_of(20, loss=1e300)],
                                       summary={}))
        self.assertEqual(page.errors, [])
        self.assertIn("not finished: nothing logged", self.rows(page, "summary")[0][0])

    def test_text_is_evaluated_by_perplexity(self):
        lines = [{key: value for key, value in line_of(10, words_per_s=5.0).items() if key != "images_per_s"},
                 {"step": 10, "seconds": 1.0, "test_loss": 5.0, "test_perplexity": 148.5}]
        page = self.show(self.make_run("words", metrics=lines, is_finished=False))
        self.assertEqual(self.rows(page, "summary")[0][1], "148.5")
        self.assertEqual(self.lines(page, "accuracy"), {("words", False): [1, [1.0, 148.5]]})

    def test_a_long_run_is_thinned_but_keeps_its_end(self):
        lines = [line_of(10 * i) for i in range(1, 5001)]
        page = self.show(self.make_run("long", metrics=lines, is_finished=False))
        points, last = self.lines(page, "loss")[("long", False)]
        self.assertLess(points, 1300)
        self.assertEqual(last, [2500.0 / 60, 2.0 / 50000])

    def test_a_simulation_is_drawn_on_powers_of_two(self):
        page = self.show(self.write("figures.json", json.dumps(SIMULATION)))
        self.assertEqual(page.errors, [])
        self.assertEqual(self.lines(page, "simulation-0"),
                         {("ssgd", False): [4, [32, 290]], ("gtopk", False): [4, [32, 16]]})
        self.assertEqual(self.lines(page, "simulation-1")[("gtopk", False)], [2, [32, 0.75]])
        places = page.evaluate("""[...document.querySelectorAll('figure[data-chart=simulation-0] circle.mark')]
            .map(mark => +mark.getAttribute('cx'))""")
        steps = [b - a for a, b in zip(places, places[1:])]
        self.assertEqual(len(places), 4)
        self.assertAlmostEqual(steps[0], steps[2], places=3)
        text = page.evaluate("document.querySelector('figure[data-chart=simulation-0] svg').textContent")
        for tick in ("481632", "workers"):
            self.assertIn(tick, text)


class Use(Pages):
    def test_it_fits_wide_and_narrow_in_light_and_dark(self):
        words = [*self.make_two(), self.make_run("a-name-without-any-place-to-break-it-that-is-longer-than-a-phone"),
                 self.write("figures.json", json.dumps(SIMULATION))]
        papers = {}
        for width in (360, 800, 1280):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    page = self.show(*words, width=width, dark=dark)
                    self.assertEqual(page.errors, [])
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.evaluate("""[...document.querySelectorAll('svg text, td, th')].filter(one => {
                        const box = one.getBoundingClientRect();
                        return box.width > 0 && getComputedStyle(one.closest('thead') || one).clipPath === 'none' &&
                            (box.left < -1 || box.right > innerWidth + 1); }).map(one => one.textContent)"""), [])
                    papers[dark] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(papers[False], papers[True])

    def test_it_asks_nothing_of_any_network(self):
        page = self.show(*self.make_two())
        self.assertEqual([url for url in page.requests if not url.startswith(("file:", "data:"))], [])

    def test_pointing_at_a_chart_tells_its_values(self):
        page = self.show(*self.make_two())
        x, y = page.evaluate("""(box => [box.right - 20, box.top + 60])(
            document.querySelector('figure[data-chart=loss] svg').getBoundingClientRect())""")
        page.move(x, y)
        page.wait_for("!document.getElementById('tip').hidden")
        self.assertIn("ssgd, training", page.evaluate("document.getElementById('tip').innerText"))
        page.move(5, 5)
        page.wait_for("document.getElementById('tip').hidden")

    def test_the_arrow_keys_tell_values_too(self):
        page = self.show(*self.make_two())
        for chart, word in (("loss", "training"), ("times", "compute"), ("strip", "compute")):
            page.evaluate(f"document.querySelector('figure[data-chart={chart}] svg').focus()")
            page.settle()
            page.press("ArrowRight")
            page.wait_for("!document.getElementById('tip').hidden")
            self.assertIn(word, page.evaluate("document.getElementById('tip').innerText"))
            page.press("Escape")
            page.wait_for("document.getElementById('tip').hidden")

    def test_a_run_can_be_hidden_and_shown_again(self):
        page = self.show(*self.make_two())
        toggle = "[...document.querySelectorAll('.legend button')][0].click()"
        page.evaluate(toggle)
        self.assertEqual({run for run, _ in self.lines(page, "loss")}, {"ssgd"})
        page.evaluate(toggle)
        self.assertEqual({run for run, _ in self.lines(page, "loss")}, {"gtopk", "ssgd"})

    def test_names_and_settings_stay_text(self):
        evil = "<img src=x onerror=document.title='owned'></script>"
        page = self.show(self.make_run("<i>run", settings=settings_of(model=evil, lr=evil)), self.make_run("b"))
        self.assertEqual(page.errors, [])
        self.assertEqual(page.evaluate("document.querySelectorAll('img, i').length"), 0)
        self.assertIn(evil, page.evaluate("document.querySelector('h2').textContent"))


class Follow(Pages):
    def test_the_page_updates_by_itself(self):
        folder = self.make_run("live", metrics=METRICS[:2], is_finished=False)
        with Server(folder) as server:
            page = self.open(server.address)
            self.assertEqual(self.lines(page, "loss"), {("live", False): [2, [1.0, 0.1]]})
            self.assertIn("running: step 20", self.rows(page, "summary")[0][0])
            with open(os.path.join(folder, "metrics.jsonl"), "a", encoding="utf-8") as file:
                file.write("".join(json.dumps(line) + "\n" for line in METRICS[2:]))
            page.wait_for("document.querySelector('figure[data-chart=loss] path.line').dataset.points === '4'")
            self.write("live/summary.json", json.dumps(summary_of()))
            page.wait_for("document.getElementById('state').textContent === 'All runs have ended.'")
            self.assertEqual(float(self.rows(page, "summary")[0][1]), 0.98125)
            self.assertEqual(page.errors, [])
        page.wait_for("document.getElementById('state').className === 'lost'")


if __name__ == "__main__":
    made.take_command()
    unittest.main()
