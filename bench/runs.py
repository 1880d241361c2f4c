"""Runs in bench/lab, their output, and the file that stores them: code shared by bench/compare and bench/validate.

A comparison is a list of jobs. Each is run once: its result is appended to a file immediately, one JSON object per line, and a
job that is in the file is not run again, so that an interrupted comparison continues where it stopped.
"""
import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from owner import give_back

HERE = os.path.dirname(os.path.realpath(__file__))
LAB = os.path.join(HERE, "lab")
COMMAND = os.path.join(HERE, "..", "build", "syncopate")
POLL_SECONDS = 0.5
SPLIT = ("compute_ms", "update_ms", "select_ms", "encode_ms", "exchange_ms", "wait_ms")


class Parser(argparse.ArgumentParser):
    """Reports errors in one line, without the usage that --help shows."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def say(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def build_of(command):
    """What identifies a build: the commit, and the program itself."""
    with open(command, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", HERE, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return {"commit": done.stdout.strip() or "unknown", "program": digest, "machine": platform.machine(),
            "cores": os.cpu_count(), "system": platform.platform()}


def wait_for(running, is_enough):
    """Output, errors, and whether it was ended early."""
    was_ended = False
    while True:
        try:
            return *running.communicate(timeout=POLL_SECONDS), was_ended
        except subprocess.TimeoutExpired:
            if not was_ended and is_enough():
                was_ended = True
                running.terminate()


def run_lab(hosts, rate, words, mpi=True, is_enough=lambda: False):
    """What the command printed, or None if it failed. Once is_enough() returns true, it is ended and "" is returned."""
    lab = [LAB, "--hosts", str(hosts), "--rate", rate] + ([] if mpi else ["--no-mpi"]) + ["--"]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with subprocess.Popen(lab + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment) as running:
        try:
            output, errors, was_ended = wait_for(running, is_enough)
        except BaseException:
            running.terminate()  # the lab then removes everything; if killed, it could not
            running.wait()
            raise
    if was_ended:
        return ""
    if running.returncode:
        say(f"failed with {running.returncode}: {' '.join(words)}: {errors.strip()[-500:]}")
        return None
    return output


def metrics_of(out):
    """The lines that a run has written so far, except one that is still being written."""
    try:
        with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def train(hosts, rate, flags, is_enough=lambda lines: False, prefix=()):
    """The lines that `syncopate train` wrote in a lab, or None if it failed."""
    out = tempfile.mkdtemp(prefix="syncopate-bench-")
    try:
        text = run_lab(hosts, rate, [*prefix, COMMAND, "train", "--threads", "1", "--out", out, "--overwrite", *flags],
                       is_enough=lambda: is_enough(metrics_of(out)))
        return None if text is None else metrics_of(out)
    finally:
        shutil.rmtree(out, ignore_errors=True)


def steady_state(lines, lead_in):
    """Means in wall-clock time, because without exchange, workers that share cores are not equally fast."""
    steady = [line for line in lines if "step_ms" in line and line["step"] >= lead_in]
    counted = steady[1:]
    seconds = steady[-1]["seconds"] - steady[0]["seconds"]
    return {"ms_per_step": 1e3 * seconds / (steady[-1]["step"] - steady[0]["step"]),
            "bytes_out_per_step": statistics.mean(line.get("bytes_out", 0) for line in counted),
            "split": {name: statistics.mean(line.get(name, 0) for line in counted) for name in SPLIT}}


def spread(values, form):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}}-{high:{form}})" if len(values) > 1 else f"{middle:{form}}"


def read(path):
    """All runs in a file. Earlier builds called the evaluations of a run "judged"."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.endswith("\n")]
    for run in found:
        if "judged" in run:
            run["evaluations"] = run.pop("judged")
    return found


def minutes_left(kinds, took, guess_seconds):
    """Estimated from jobs of the same kind, or else of the same part, or else from the guess for the part."""
    def seconds(kind):
        same = took.get(kind) or [one for other, times in took.items() if other[0] == kind[0] for one in times]
        return statistics.mean(same) if same else guess_seconds[kind[0]]
    return sum(seconds(kind) for kind in kinds) / 60


def work_off(path, jobs, about, run, kind_of, guess_seconds):
    """Run the jobs that are not in the file yet.
    about(job)     what identifies it, as a dict; stored with its result
    run(job)       its result as a dict, or None if it failed; logs the result
    kind_of(job)   a tuple that begins with the part; jobs of the same kind take about equally long
    guess_seconds  for a job of each part, until one has run"""
    kept, took = read(path), {}
    missing = [job for job in jobs
               if not any(all(one.get(name) == value for name, value in about(job).items()) for one in kept)]
    if len(missing) < len(jobs):
        say(f"{len(jobs) - len(missing)} of {len(jobs)} runs are in {path} already")
    for number, job in enumerate(missing):
        left = minutes_left([kind_of(other) for other in missing[number:]], took, guess_seconds)
        say(f"run {number + 1} of {len(missing)}, about {left:.0f} min left")
        began, load = time.monotonic(), os.getloadavg()[0]
        result = run(job)
        took.setdefault(kind_of(job), []).append(time.monotonic() - began)
        if result is not None:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps({**result, **about(job), "load": load}) + "\n")
            give_back(path)
