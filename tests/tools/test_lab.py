"""bench/lab makes hosts that see each other and nothing else, and leaves nothing behind."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from project import ROOT, without_root

LAB = os.path.join(ROOT, "bench", "lab")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench"))
import network  # noqa: E402
import owner  # noqa: E402


def lab(*words, tools=None):
    """Exit code and output, errors included.
    tools  a folder with programs that are found before the machine's"""
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}") if tools else None
    done = subprocess.run([LAB, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=60, env=environment)
    return done.returncode, done.stdout


def why_no_lab():
    """What keeps this machine from having one, or ""."""
    code, output = lab("--hosts", "1", "--no-mpi", "--", "true")
    return output.strip() if code == 2 else ""


def left_over():
    return [line for line in lab("list")[1].splitlines() if "left over" in line]


REASON = why_no_lab()


class Cores(unittest.TestCase):
    def test_hosts_get_equal_parts_or_all_of_them(self):
        for cores, count, dealt in (([0, 1], 4, [[0], [1], [0], [1]]), ([2, 5], 2, [[2], [5]]),
                                    ([0, 1, 2, 3], 2, [[0, 1], [2, 3]]), ([0, 1], 1, [[0, 1]]),
                                    ([0, 1], 3, [[0, 1]] * 3), ([0, 1, 2], 2, [[0, 1, 2]] * 2), ([7], 3, [[7]] * 3)):
            with self.subTest(cores=cores, count=count):
                self.assertEqual(network.deal_cores(cores, count), dealt)


@unittest.skipIf(os.geteuid() != 0, "only root has something to give away")
class Ownership(unittest.TestCase):
    """Nobody is 65534 here; whoever calls sudo is somebody."""

    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        os.chown(self.home.name, 65534, 65534)

    def make(self, name):
        path = os.path.join(self.home.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("x")
        return path

    def owners(self, since):
        with unittest.mock.patch.dict(os.environ, {"SUDO_UID": "65534", "SUDO_GID": "65534"}):
            owner.give_back_new([self.home.name], since)
        return {os.path.relpath(os.path.join(folder, name), self.home.name):
                os.lstat(os.path.join(folder, name)).st_uid
                for folder, folders, files in os.walk(self.home.name) for name in folders + files}

    def test_what_root_made_meanwhile_is_the_callers_afterwards(self):
        since = time.time() - 1
        self.make("runs/a/metrics.jsonl")
        os.symlink("/etc/passwd", os.path.join(self.home.name, "runs/link"))
        self.assertEqual(set(self.owners(since).values()), {65534})
        self.assertEqual(os.stat("/etc/passwd").st_uid, 0)

    def test_what_was_there_or_is_linked_from_elsewhere_stays_roots(self):
        self.make("before")
        os.link(self.make("one"), os.path.join(self.home.name, "other"))
        self.assertEqual(self.owners(time.time() + 60), {"before": 0, "one": 0, "other": 0})
        self.assertEqual(self.owners(time.time() - 60), {"before": 65534, "one": 0, "other": 0})

    def test_folders_of_others_are_left_alone(self):
        self.make("out")
        os.chown(self.home.name, 0, 0)
        self.assertEqual(self.owners(time.time() - 60), {"out": 0})

    def test_places_are_the_directory_and_what_words_name(self):
        path = self.make("x")
        self.assertEqual(owner.places(["train", "--out", path, f"--log={path}", "--json"], "/tmp"), ["/tmp", path, path])

    @unittest.skipIf(REASON, REASON)
    def test_a_command_in_the_lab_writes_for_the_caller(self):
        out = os.path.join(self.home.name, "out")
        done = subprocess.run([LAB, "--hosts", "1", "--no-mpi", "--", "mkdir", "-p", f"{out}/run"], cwd=self.home.name,
                              env=dict(os.environ, SUDO_UID="65534", SUDO_GID="65534"), check=False, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertEqual([os.stat(path).st_uid for path in (out, f"{out}/run")], [65534, 65534])


class BadInput(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "what is asked for is looked at only when it could be had")
    def test_bad_options_are_refused_in_one_line(self):
        for words in (["--hosts", "0", "--", "true"], ["--hosts", "many", "--", "true"],
                      ["--hosts", "251", "--", "true"], ["--rate", "fast", "--", "true"],
                      ["--rate", "0mbit", "--", "true"], ["--latency", "5", "--", "true"],
                      ["--burst-ms", "nan", "--", "true"], ["--ranks-per-host", "0", "--", "true"],
                      ["--hosts", "2"], ["true"],
                      ["--", "no-such-command-here"], ["remove", "synlab0"]):
            with self.subTest(words):
                code, output = lab(*words)
                self.assertEqual(code, 2, output)
                self.assertEqual(output.count("\n"), 1, output)

    def test_without_root_it_says_so(self):
        for words in (["--", "true"], ["list"], ["remove", "synlab0"]):
            with self.subTest(words):
                code, output = without_root(LAB, *words)
                self.assertEqual((code, output.count("\n")), (2, 1), output)
                self.assertIn("needs root", output)


@unittest.skipIf(REASON, REASON)
class Lab(unittest.TestCase):
    def assert_gone(self, name):
        self.assertNotIn(name, lab("list")[1])
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
        self.assertNotIn(name, listed.stdout)

    def start(self):
        """A lab that sleeps, once it does; with its name."""
        process = subprocess.Popen([LAB, "--hosts", "2", "--no-mpi", "--", "sh", "-c",
                                    "echo begun; sleep 60"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "begun\n")
        return process, f"synlab{process.pid}"

    def address(self, name):
        """Of a lab's first host."""
        listed = subprocess.run(["ip", "-n", f"{name}-host1", "-o", "-4", "address", "show", "lan"],
                                capture_output=True, text=True, check=True)
        return re.search(r"inet (\S+)", listed.stdout)[1]

    def test_every_rank_knows_its_place(self):
        code, output = lab("--hosts", "2", "--ranks-per-host", "2", "--no-mpi", "--", "sh", "-c",
                           "echo $RANK of $WORLD_SIZE, $LOCAL_RANK here")
        self.assertEqual(code, 0, output)
        self.assertEqual(sorted(output.splitlines()), [
            "0 of 4, 0 here", "1 of 4, 1 here", "2 of 4, 0 here", "3 of 4, 1 here"])

    def cores_of(self, *flags):
        """What the hosts' processes may run on, a set for each host."""
        code, output = lab(*flags, "--no-mpi", "--", "python3", "-c",
                           "import os; words = [os.environ['RANK'], *map(str, os.sched_getaffinity(0))]\n"
                           "os.write(1, (' '.join(words) + '\\n').encode())  # in one piece")
        self.assertEqual(code, 0, output)
        return [set(line.split()[1:]) for line in sorted(output.splitlines())]

    def test_every_host_has_as_much_of_the_cores(self):
        count = len(os.sched_getaffinity(0))
        owned = self.cores_of("--hosts", str(2 * count))
        self.assertEqual([len(cores) for cores in owned], [1] * 2 * count)
        for core in set.union(*owned):
            self.assertEqual(sum(core in cores for cores in owned), 2)
        for cores in self.cores_of("--hosts", str(2 * count), "--share-cores"):
            self.assertEqual(len(cores), count)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun_puts_a_rank_on_every_host(self):
        code, output = lab("--hosts", "3", "--", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK $(uname -n)")
        if code == 2 and "needs Open MPI" in output:
            self.skipTest(output)
        self.assertEqual(code, 0, output)
        ranks = re.findall(r"^(\d+) synlab\d+-(host\d+)$", output, re.MULTILINE)  # mpirun may warn in other lines
        self.assertEqual(sorted(ranks), [("0", "host1"), ("1", "host2"), ("2", "host3")], output)

    def test_a_host_has_one_link_shaped_and_no_way_out(self):
        code, output = lab("--hosts", "1", "--rate", "100mbit", "--no-mpi", "--", "sh", "-c",
                           "ip -o link; ip -o -4 address; ip route; tc qdisc show dev lan")
        self.assertEqual(code, 0, output)
        self.assertEqual(len(re.findall(r"link/ether", output)), 1, output)
        self.assertRegex(output, r"inet 198\.1[89]\.\d+\.1/24")
        self.assertRegex(output, r"tbf .*rate 100Mbit burst \S+ lat 50")
        self.assertNotIn("default", re.sub(r"mode default|group default|qlen", "", output))

    def test_hosts_reach_each_other(self):
        talk = ("import os, socket\n"
                "here, port = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])\n"
                "if os.environ['RANK'] == '0':\n"
                "    with socket.create_server((here, port)) as s: print(s.accept()[0].recv(5))\n"
                "else:\n"
                "    import time\n"
                "    for i in range(100):\n"
                "        try: s = socket.create_connection((here, port)); break\n"
                "        except OSError: time.sleep(0.1)\n"
                "    s.send(b'hello')\n")
        code, output = lab("--hosts", "2", "--rate", "unlimited", "--no-mpi", "--", "python3", "-c",
                           talk)
        self.assertEqual((code, output), (0, "b'hello'\n"))

    def test_the_commands_failure_is_the_labs(self):
        code, _ = lab("--hosts", "2", "--no-mpi", "--", "sh", "-c", "[ $RANK = 0 ] && exit 7; sleep 60")
        self.assertEqual(code, 7)

    def test_signals_take_everything_down(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process, name = self.start()
                process.send_signal(number)
                self.assertEqual(process.wait(30), 128 + number)
                self.assert_gone(name)

    def test_two_labs_do_not_meet(self):
        first, one = self.start()
        second, two = self.start()
        listed = lab("list")[1]
        for name in (one, two):
            self.assertRegex(listed, rf"{name}  2 hosts, 1gbit, latency none  running")
            self.assertIn("is running", lab("remove", name)[1])
        self.assertNotEqual(self.address(one), self.address(two))
        for process in (first, second):
            process.terminate()
            process.wait(30)
        self.assert_gone(one)
        self.assert_gone(two)

    def test_what_a_crash_leaves_is_found_and_removed(self):
        process, name = self.start()
        process.kill()
        process.wait(30)
        self.assertRegex(lab("list")[1], rf"{name}  2 hosts  left over; bench/lab remove {name}")
        self.assertIn(f"{name} is left over", lab("--hosts", "1", "--no-mpi", "--", "true")[1])
        self.assertEqual(lab("remove", name), (0, ""))
        self.assert_gone(name)

    def test_labs_that_start_at_once_do_not_meet(self):
        begun = [subprocess.Popen([LAB, "--hosts", "1", "--no-mpi", "--", "sh", "-c",
                                   "ip -o -4 address show lan; sleep 2"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(3)]
        said = [process.communicate(timeout=60)[0] for process in begun]
        self.assertEqual([process.returncode for process in begun], [0, 0, 0], said)
        self.assertEqual(len({re.search(r"inet (\S+)", text)[1] for text in said}), 3, said)

    def test_a_missing_kernel_feature_is_named_and_nothing_is_left(self):
        for tool, asks, flags, feature in (("tc", "tbf", [], "CONFIG_NET_SCH_TBF"),
                                           ("tc", "netem", ["--latency", "1ms"], "CONFIG_NET_SCH_NETEM"),
                                           ("ip", "veth", [], "CONFIG_VETH"),
                                           ("ip", "type bridge", [], "CONFIG_BRIDGE"),
                                           ("ip", "netns add", [], "CONFIG_NET_NS")):
            with self.subTest(feature), tempfile.TemporaryDirectory() as tools:
                path = os.path.join(tools, tool)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\ncase "$*" in *"{asks}"*) echo unknown kind >&2; exit 2;; esac\n'
                               f'exec {shutil.which(tool)} "$@"\n')
                os.chmod(path, 0o755)
                before = left_over()
                code, output = lab("--hosts", "1", *flags, "--no-mpi", "--", "true", tools=tools)
                self.assertEqual((code, output.count("\n")), (2, 1), output)
                self.assertIn(feature, output)
                self.assertEqual(left_over(), before)


if __name__ == "__main__":
    unittest.main()
