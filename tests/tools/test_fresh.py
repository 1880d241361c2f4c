"""scripts/fresh says in one line why a root cannot be had, and leaves nothing behind. No test here needs a network."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import project

FRESH = os.path.join(project.ROOT, "scripts", "fresh")
IS_ROOT = os.geteuid() == 0
CAN_UNSHARE = IS_ROOT and subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False,
                                         stderr=subprocess.DEVNULL).returncode == 0


class FreshTest(project.ProjectTest):
    def environment(self, **more):
        """The cache in this test's folder, and what it wrote as programs before the machine's."""
        return dict(os.environ, XDG_CACHE_HOME=os.path.join(self.root, "cache"), DEBOOTSTRAP_DIR=self.root,
                    PATH=os.path.join(self.root, "bin") + ":" + os.environ["PATH"], **more)

    def write_program(self, name, text):
        self.write(os.path.join("bin", name), "#!/bin/bash\n" + text)
        os.chmod(os.path.join(self.root, "bin", name), 0o755)

    def only_programs(self, *names):
        """A folder with nothing but these programs of the machine."""
        folder = os.path.join(self.root, "only")
        os.makedirs(folder)
        os.chmod(self.root, 0o755)
        for name in names:
            os.symlink(shutil.which(name), os.path.join(folder, name))
        return folder

    def fresh(self, *words, before=(), **more):
        done = subprocess.run([*before, FRESH, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=120, env=self.environment(**more))
        return done.returncode, done.stdout

    def left_behind(self):
        """Roots and archives of roots; downloads may stay."""
        cache = os.path.join(self.root, "cache/syncopate/fresh")
        return glob.glob(f"{cache}/root.*") + glob.glob(f"{cache}/*.tar*")

    def assert_refused(self, result, code, pattern):
        """With one error, and nothing left; scripts/fresh may say besides what it is doing, and that it failed."""
        got, output = result
        lines = [line for line in output.splitlines() if not re.search(": making a |: exit code ", line)]
        self.assertEqual((got, len(lines)), (code, 1), output)
        self.assertRegex(lines[0], "^scripts/fresh: .*" + pattern)
        self.assertEqual(self.left_behind(), [])


class BadInput(FreshTest):
    def test_bad_words_are_refused(self):
        for words, pattern in (([], "no suite was given"), (["../etc"], '"../etc" is not a suite'),
                               (["Trixie"], '"Trixie" is not a suite'), (["trixie", "--fast"], "unknown option --fast"),
                               (["trixie", "--share", "/nonexistent"], '--share: "/nonexistent" is not a folder'),
                               (["trixie", "--user", "--share"], '--share: "" is not a folder')):
            with self.subTest(words):
                self.assert_refused(self.fresh(*words), 2, pattern)

    @unittest.skipUnless(CAN_UNSHARE and shutil.which("debootstrap"), "needs root and debootstrap")
    def test_a_suite_that_nobody_knows_is_refused(self):
        self.assert_refused(self.fresh("sandworm", before=["env", "-u", "DEBOOTSTRAP_DIR"]), 2,
                            'debootstrap does not know suite "sandworm"')

    def test_who_is_not_root_and_has_no_sudo_is_told(self):
        folder = self.only_programs("bash", "dirname", "id")
        readable = shutil.copy(FRESH, folder)  # root's own clone may be closed to others
        code, output = project.without_root("env", f"PATH={folder}", shutil.which("bash"), readable, "trixie")
        self.assert_refused((code, output), 1, "not root and no sudo")

    @unittest.skipUnless(IS_ROOT, "others are asked for sudo first")
    def test_a_machine_without_debootstrap_is_told_how_to_get_it(self):
        folder = self.only_programs("bash", "dirname", "id")
        result = self.fresh("trixie", before=["env", f"PATH={folder}", shutil.which("bash")])
        self.assert_refused(result, 1, "debootstrap is not installed; run: scripts/setup fresh")


@unittest.skipUnless(CAN_UNSHARE and shutil.which("wget") and shutil.which("git"), "needs root, namespaces, wget and git")
class BadLuck(FreshTest):
    def setUp(self):
        super().setUp()
        self.write_program("debootstrap", 'echo $$ >"$(dirname "$0")/pid"; sleep 600\n')

    def test_no_network_is_one_line(self):
        self.assert_refused(self.fresh("trixie", "--root", SYNCOPATE_MIRROR="http://127.0.0.1:9/debian"), 1,
                            "http://127.0.0.1:9/debian.* does not provide trixie: .*(refused|failed)")

    def test_a_mirror_that_hangs_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            mirror = f"http://127.0.0.1:{server.getsockname()[1]}/debian"
            result = self.fresh("trixie", "--root", SYNCOPATE_MIRROR=mirror, SYNCOPATE_TIMEOUT="1")
        self.assert_refused(result, 1, "does not provide trixie: .*timed out")

    def test_a_debootstrap_that_fails_is_quoted(self):
        self.write_program("wget", "exit 0\n")
        self.write_program("debootstrap", "echo I: Retrieving; echo E: Release signed by unknown key; exit 1\n")
        self.assert_refused(self.fresh("trixie", "--root"), 1, "debootstrap could not create trixie: E: Release signed")

    def test_a_debootstrap_that_fails_in_silence_is_named(self):
        self.write_program("wget", "exit 0\n")
        self.write_program("debootstrap", "exit 1\n")
        self.assert_refused(self.fresh("trixie", "--root"), 1, "debootstrap could not create trixie$")

    def test_a_full_disk_is_named(self):
        os.makedirs(os.path.join(self.root, "cache"))
        self.write_program("wget", "exit 0\n")
        self.write_program("debootstrap", 'for word; do case $word in */root) root=$word ;; esac; done\n'
                                          'mkdir -p "$root/etc"; head -c 8M /dev/urandom >"$root/etc/large"\n')
        for size in ("1m", "12m"):  # too small for the root; for what is kept of it
            with self.subTest(size):
                self.assert_refused(self.fresh("trixie", "--root", before=[
                    "unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none "$XDG_CACHE_HOME"; "$@"; '
                    'code=$?; ls "$XDG_CACHE_HOME/syncopate/fresh" | grep root; exit $code', "sh"]),
                    1, "[Nn]o space left")

    def test_a_disk_that_was_too_small_is_named_although_there_is_room_again(self):
        os.makedirs(os.path.join(self.root, "cache"))
        self.write_program("wget", "exit 0\n")
        self.write_program("debootstrap", "echo \"E: Couldn't download dists/trixie/main/binary-amd64/Packages\"; exit 1\n")
        self.assert_refused(self.fresh("trixie", "--root", before=[
            "unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=30m none "$XDG_CACHE_HOME"; "$@"', "sh"]),
            1, r"download .*Packages; only \d+ MB are free in ")

    def test_a_signal_takes_everything_down(self):
        self.write_program("wget", "exit 0\n")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                # Whoever runs the tests in the background has SIGINT ignored, and so have its children.
                running = subprocess.Popen([FRESH, "trixie", "--root"], stdout=subprocess.DEVNULL,
                                           env=self.environment(), start_new_session=True,
                                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                pid = os.path.join(self.root, "bin/pid")
                while not os.path.exists(pid) or not os.path.getsize(pid):
                    self.assertIsNone(running.poll())
                    time.sleep(0.02)
                os.killpg(running.pid, number)
                self.assertEqual(running.wait(60), code)
                self.assertEqual(self.left_behind(), [])
                left = subprocess.run(["pgrep", "-g", str(running.pid)], capture_output=True, text=True, check=False)
                self.assertEqual(left.stdout, "")
                os.remove(pid)


class Readme(unittest.TestCase):
    def test_its_first_block_is_what_a_fresh_root_runs(self):
        with open(os.path.join(project.ROOT, "README.md"), encoding="utf-8") as file:
            block = re.search(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)[1]
        self.assertEqual(block, "git clone <this repository> syncopate\ncd syncopate\nmake demo\n")


if __name__ == "__main__":
    unittest.main()
