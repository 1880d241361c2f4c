"""syncopate report --follow: a server for one page, on this machine only, that nobody can confuse or stop.

    test_follow.py COMMAND       the program to test; further arguments as unittest takes them
"""
import json
import re
import signal
import socket
import subprocess
import unittest

import made
from made import METRICS, MadeRuns, line_of, report, summary_of


class Server:
    """A server for some runs, while it is used."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        self.process = subprocess.Popen([made.COMMAND, "report", "--follow", *self.words], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = self.process.stdout.readline()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/ .*\n", self.said)[1])
        self.address = f"http://127.0.0.1:{self.port}/"
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def say(self, data):
        """All that comes back on a connection that sends these bytes."""
        with self.connect() as connection:
            connection.sendall(data)
            return hear_all(connection)

    def get(self, target, host=None):
        """(status, head, body)."""
        host = host or f"127.0.0.1:{self.port}"
        head, body = self.say(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).split(b"\r\n\r\n", 1)
        return int(head.split()[1]), head.decode(), body.decode()


def hear_all(connection):
    heard = b""
    try:
        while part := connection.recv(1 << 16):
            heard += part
    except ConnectionResetError:
        pass
    return heard


class Follow(MadeRuns):
    def test_the_page_is_served_as_it_would_be_written(self):
        folder = self.make_run("a")
        with Server(folder) as server:
            status, head, body = server.get("/")
        self.assertEqual(status, 200)
        self.assertIn("Content-Type: text/html; charset=utf-8", head)
        self.assertIn(f"Content-Length: {len(body.encode())}", head)
        self.assertEqual(body.replace('"follow": true', '"follow": false'), self.make_page(folder))

    def test_data_are_the_files_of_now_and_nothing_when_nothing_is_new(self):
        folder = self.make_run("a", metrics=METRICS[:2], is_finished=False)
        with Server(folder) as server:
            first = json.loads(server.get("/data")[2])
            self.assertEqual(first["runs"][0]["metrics"], METRICS[:2])
            self.assertEqual(server.get(f"/data?have={first['version']}")[::2], (200, ""))
            with open(folder + "/metrics.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(line_of(30)) + "\n")
            second = json.loads(server.get(f"/data?have={first['version']}")[2])
            self.assertEqual(second["runs"][0]["metrics"], [*METRICS[:2], line_of(30)])
            self.write("a/summary.json", json.dumps(summary_of()))
            third = json.loads(server.get(f"/data?have={second['version']}")[2])
            self.assertEqual(third["runs"][0]["summary"], summary_of())

    def test_ctrl_c_and_sigterm_end_it_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Server(self.make_run("a")) as server:
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(30), 0)

    def test_only_loopback_listens(self):
        with Server(self.make_run("a")) as server:
            with open("/proc/net/tcp", encoding="ascii") as file:
                places = [line.split()[1] for line in file if line.split()[1].endswith(f":{server.port:04X}")]
            self.assertIn(f"0100007F:{server.port:04X}", places)
            self.assertNotIn(f"00000000:{server.port:04X}", places)

    def test_other_hosts_are_refused(self):
        with Server(self.make_run("a")) as server:
            self.assertEqual(server.get("/", f"localhost:{server.port}")[0], 200)
            for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", "127.0.0.1:1", ""):
                self.assertEqual(server.get("/", host or " ")[0], 403, host)
            request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n"
            self.assertIn(b" 403 ", server.say(request.encode()))
            self.assertIn(b" 403 ", server.say(b"GET / HTTP/1.1\r\n\r\n"))

    def test_garbage_is_refused_and_the_next_is_served(self):
        host = b"Host: x\r\n\r\n"
        with Server(self.make_run("a")) as server:
            ours = f"Host: 127.0.0.1:{server.port}\r\n\r\n".encode()
            for data, answer in ((b"\x16\x03\x01\x02\x00\x01\x00\n\n", b" 400 "), (b"GET /\r\n" + host, b" 400 "),
                                 (b"GET / HTTP/2\r\n" + host, b" 400 "), (b"\r\n\r\n", b" 400 "),
                                 (b"POST / HTTP/1.1\r\n" + ours, b" 405 "), (b"get / HTTP/9.9\r\n" + ours, b" 400 "),
                                 (b"GET /../etc/passwd HTTP/1.1\r\n" + ours, b" 404 "),
                                 (b"GET /data?have=x HTTP/1.1\r\n" + ours, b" 404 "),
                                 (b"GET / HTTP/1.1\r\nA: \x01\r\n" + ours, b" 400 "),
                                 (b"A" * 9000, b" 431 "), (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 3000, b" 431 ")):
                with self.subTest(data=data[:40]):
                    heard = server.say(data)
                    self.assertTrue(answer in heard or (len(data) > 8192 and heard == b""), heard[:200])
                    self.assertEqual(server.get("/data")[0], 200)

    def test_a_request_in_single_bytes_is_served(self):
        with Server(self.make_run("a")) as server, server.connect() as connection:
            for byte in f"GET /data HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode():
                connection.sendall(bytes([byte]))
            self.assertIn(b" 200 OK", hear_all(connection))

    def test_more_silent_visitors_than_places_keep_nobody_out_for_long(self):
        with Server(self.make_run("a")) as server:
            silent = [server.connect() for _ in range(20)]
            self.assertEqual(server.get("/data")[0], 200)  # waits until the first have had their time
            for connection in silent:
                connection.close()

    def test_a_run_that_goes_away_is_told_and_may_come_back(self):
        folder = self.make_run("a")
        with Server(folder) as server:
            self.write("a/settings.json", "{")
            status, _, body = server.get("/data")
            self.assertEqual(status, 503)
            self.assertIn("settings.json", body)
            self.make_run("a")
            self.assertEqual(server.get("/data")[0], 200)

    def test_a_port_can_be_chosen_and_one_in_use_is_named(self):
        folder = self.make_run("a")
        with Server(folder) as server:
            done = report("--follow", folder, "--port", str(server.port))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertIn(str(server.port), done.stderr)

    def test_what_is_no_run_is_refused_before_anything_listens(self):
        done = report("--follow", self.home)
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""))


if __name__ == "__main__":
    made.take_command()
    unittest.main()
