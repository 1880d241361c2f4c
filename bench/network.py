"""The lab's network: hosts as network namespaces, joined by a bridge in a separate namespace.

These namespaces have no connection to the machine's own network, so that nothing outside can reach them
or be reached. A lab's namespaces carry its name, synlab<pid>, and its owner holds a lock on the file of
its subnet; a name without such a lock is left over from a crash. Locks are better than pid files here:
the kernel releases them when their owner ends, for whatever reason.
"""
import collections
import fcntl
import glob
import ipaddress
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

INTERFACE = "lan"  # a host's only link, as seen from inside
LOCKS = "/run/syncopate-lab"
SUBNETS = list(ipaddress.ip_network("198.18.0.0/15").subnets(new_prefix=24))
MOST_HOSTS = 250
SMALLEST_BURST = 16 * 1024
QUEUE = "50ms"
PATIENCE_SECONDS = 3
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
OFFERS = {  # what the kernel must have for a command to work
    "netns": "network namespaces (CONFIG_NET_NS, and permission to create them)",
    "veth": "virtual links (CONFIG_VETH)",
    "bridge": "bridges (CONFIG_BRIDGE)",
    "tbf": "the tbf queue discipline (CONFIG_NET_SCH_TBF)",
    "netem": "the netem queue discipline (CONFIG_NET_SCH_NETEM), which --latency needs",
}

Host = collections.namedtuple("Host", "namespace address cores")
About = collections.namedtuple("About", "description is_running")


class LabError(Exception):
    """What is wrong and what was expected, in one line."""


def check_privileges():
    if os.geteuid() != 0:
        raise LabError("needs root, to create network namespaces; try: sudo bench/lab ...")
    for tool in ("ip", "tc"):
        if not shutil.which(tool):
            raise LabError(f"{tool} is not installed (package iproute2)")


def system(feature, *words):
    """Run one command; if it fails, report which kernel feature is missing."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
        raise LabError(f"this machine does not offer {OFFERS[feature]}: {' '.join(words)}: {said}")
    return done.stdout


def bits_per_second(rate):
    """None for "unlimited"."""
    if rate == "unlimited":
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]bit)", rate.lower())
    value = float(match[1]) * UNITS[match[2]] if match else 0
    if not 8e3 <= value <= 1e12:
        raise LabError(f'--rate: "{rate}" is not valid; expected, for example, 100mbit, 1gbit or unlimited')
    return value


def delay(latency):
    """None for "none"."""
    if latency == "none":
        return None
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(us|ms|s)", latency):
        raise LabError(f'--latency: "{latency}" is not valid; expected none or, for example, 200us or 5ms')
    return latency


def deal_cores(cores, count):
    """The cores that each of `count` hosts may use. Each gets the same number of cores and shares them with the same
    number of hosts, because synchronous hosts are as slow as the slowest. If cores cannot be divided evenly, all
    hosts may use all cores."""
    if count % len(cores) == 0:
        return [[cores[i % len(cores)]] for i in range(count)]
    if len(cores) % count == 0:
        each = len(cores) // count
        return [cores[i * each:(i + 1) * each] for i in range(count)]
    return [cores] * count


def namespaces():
    """Every lab's namespaces: {lab's name: [namespace]}."""
    found = collections.defaultdict(list)
    for line in system("netns", "ip", "netns", "list").splitlines():
        match = re.match(r"(synlab[0-9]+)-[a-z0-9]+", line)
        if match:
            found[match[1]].append(match[0])
    return found


def try_lock(path, kind):
    """The open file with its lock held, or None while another process holds it."""
    file = open(path, "a+", encoding="utf-8")
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        file.close()
        return None


def running_labs():
    """{name: description} of the labs whose owner is alive."""
    found = {}
    for path in glob.glob(f"{LOCKS}/*.lock"):
        lock = try_lock(path, fcntl.LOCK_SH)
        if lock:
            lock.close()
            continue
        with open(path, encoding="utf-8") as file:
            name, _, description = file.read().partition(" ")
        found[name] = description
    return found


def all_labs():
    running = running_labs()
    labs = {name: About(description, True) for name, description in running.items() if name}
    for name, members in namespaces().items():
        if name not in running:
            labs[name] = About(f"{sum('-host' in one for one in members)} hosts", False)
    return labs


def left_over():
    return sorted(name for name, about in all_labs().items() if not about.is_running)


def remove_by_name(name):
    labs = all_labs()
    if name not in labs:
        raise LabError(f'no lab is called "{name}"; there are: {", ".join(sorted(labs)) or "none"}')
    if labs[name].is_running:
        raise LabError(f"{name} is running; stop process {name[len('synlab'):]}, its owner, instead")
    tear_down(name)


def processes_in(members):
    found = []
    for namespace in members:
        listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True,
                                check=False)
        found += [int(pid) for pid in listed.stdout.split()]
    return found


def end_processes(members):
    """Send SIGTERM to every process inside, then SIGKILL to those that remain."""
    for number, patience in ((signal.SIGTERM, PATIENCE_SECONDS), (signal.SIGKILL, 5)):
        deadline = time.monotonic() + patience
        for pid in processes_in(members):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        while processes_in(members) and time.monotonic() < deadline:
            time.sleep(0.05)


def tear_down(name):
    """End what runs in a lab and remove it. Links vanish with their namespaces."""
    members = namespaces().get(name, [])
    end_processes(members)
    for namespace in members:
        subprocess.run(["ip", "netns", "delete", namespace], check=False)
    for path in glob.glob(f"{LOCKS}/{name}.*"):
        shutil.rmtree(path, ignore_errors=True)


class Lab:
    """A network of hosts. build() creates it, start() runs something on a host, remove() removes everything."""

    def __init__(self, count, rate, latency, burst_ms, shares_cores=False):
        if not 1 <= count <= MOST_HOSTS:
            raise LabError(f"--hosts: {count} is not valid; expected 1 to {MOST_HOSTS}")
        if not 0 < burst_ms <= 1000:
            raise LabError(f"--burst-ms: {burst_ms:g} is not valid; expected more than 0, at most 1000")
        self.rate = bits_per_second(rate)
        self.latency = delay(latency)
        self.burst_ms = burst_ms
        self.name = f"synlab{os.getpid()}"
        self.lock, network = self._take_subnet(f"{count} hosts, {rate}, latency {latency}")
        self.subnet = str(network)
        self.bridge = f"{self.name}-bridge"
        cores = sorted(os.sched_getaffinity(0))
        dealt = [cores] * count if shares_cores else deal_cores(cores, count)
        self.hosts = [Host(f"{self.name}-host{i}", str(network[i]), dealt[i - 1]) for i in range(1, count + 1)]
        self.folder = None
        self.agent = None
        self.started = []

    def _take_subnet(self, description):
        os.makedirs(LOCKS, mode=0o755, exist_ok=True)
        for network in SUBNETS:
            lock = try_lock(f"{LOCKS}/{network.network_address}.lock", fcntl.LOCK_EX)
            if lock:
                lock.truncate(0)
                lock.write(f"{self.name} {description}")
                lock.flush()
                return lock, network
        raise LabError(f"all {len(SUBNETS)} subnets of 198.18.0.0/15 are taken by running labs")

    def build(self):
        if self.name in namespaces():
            raise LabError(f"{self.name} is left over from a crash; bench/lab remove {self.name}")
        system("netns", "ip", "netns", "add", self.bridge)
        system("bridge", "ip", "-n", self.bridge, "link", "add", "bridge", "type", "bridge")
        system("bridge", "ip", "-n", self.bridge, "link", "set", "bridge", "up")
        for index, host in enumerate(self.hosts, 1):
            self._add_host(host, f"port{index}")
        self.folder = tempfile.mkdtemp(prefix=f"{self.name}.", dir=LOCKS)
        self.agent = self._write_agent()

    def _add_host(self, host, port):
        inside, outside = ("ip", "-n", host.namespace), ("ip", "-n", self.bridge)
        system("netns", "ip", "netns", "add", host.namespace)
        system("veth", *outside, "link", "add", port, "type", "veth",
               "peer", "name", INTERFACE, "netns", host.namespace)
        system("bridge", *outside, "link", "set", port, "master", "bridge", "up")
        system("netns", *inside, "link", "set", "lo", "up")
        system("netns", *inside, "address", "add", f"{host.address}/24", "dev", INTERFACE)
        system("netns", *inside, "link", "set", INTERFACE, "up")
        # cubic is what nearly every machine uses; a route may set it even where a namespace may not.
        subprocess.run([*inside, "route", "replace", self.subnet, "dev", INTERFACE,
                        "src", host.address, "congctl", "cubic"], capture_output=True, check=False)
        self._shape(host.namespace, INTERFACE, self.latency)
        self._shape(self.bridge, port, None)

    def _shape(self, namespace, device, latency):
        """Limit what leaves a device; shaping both ends of a link limits both directions."""
        add = ("tc", "-n", namespace, "qdisc", "add", "dev", device)
        place = ("root",)
        if self.rate:
            burst = max(int(self.rate * self.burst_ms / 8000), SMALLEST_BURST)
            system("tbf", *add, "root", "handle", "1:", "tbf", "rate", f"{self.rate:.0f}bit",
                   "burst", f"{burst}b", "latency", QUEUE)
            place = ("parent", "1:1")
        if latency:
            system("netem", *add, *place, "netem", "delay", latency, "limit", "100000")

    def _write_agent(self):
        """What mpirun calls instead of ssh, with a host's address and a command line. It sets the host's cores and
        host name: daemons that seem to share one machine would overwrite each other's files. The script is passed to
        a shell, since /run may be mounted noexec."""
        path = os.path.join(self.folder, "agent")
        cases = "".join(f"{host.address}) namespace={host.namespace} cores={','.join(map(str, host.cores))} ;;\n"
                        for host in self.hosts)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'case "$1" in\n{cases}*) exit 1 ;;\nesac\nshift\n'
                       'exec taskset -c "$cores" ip netns exec "$namespace" unshare --uts sh -c \'\n'
                       'echo "$1" >/proc/sys/kernel/hostname\n'
                       'exec sh -c "$2"\' sh "$namespace" "$*"\n')
        return f"/bin/sh {path}"

    def start(self, host, words, environment):
        """Start a program on a host and return its process."""
        process = subprocess.Popen([*self.agent.split(), host.address, "exec " + shlex.join(words)],
                                   env=environment)
        self.started.append(process)
        return process

    def _end_started(self):
        """mpirun ends its own daemons better than we can; for other programs the signal is enough."""
        for process in self.started:
            process.terminate()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and any(one.poll() is None for one in self.started):
            time.sleep(0.02)

    def remove(self):
        self._end_started()
        tear_down(self.name)
        self.lock.truncate(0)
        self.lock.close()
