"""A headless Chromium, driven over a pipe with nothing but Python's own library.

    with Browser() as browser:
        page = browser.open("file:///tmp/report.html", width=360, dark=True)
        page.evaluate("document.title")
        page.errors        # what the page complained about
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


class BrowserError(Exception):
    pass


class Browser:
    def __enter__(self):
        self.home = tempfile.TemporaryDirectory()
        hear, their_out = os.pipe()
        their_in, say = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4, with NULs between messages.
        command = ["/bin/sh", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "sh", PROGRAM, "--headless",
                   "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   f"--user-data-dir={self.home.name}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        pass_fds=(their_in, their_out),
                                        env={**os.environ, "HOME": self.home.name})
        os.close(their_in)
        os.close(their_out)
        self.hear, self.say = hear, say
        self.heard = b""
        self.number = 0
        self.pages = {}
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (BrowserError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.hear)
        os.close(self.say)
        self.home.cleanup()

    def next_message(self, end):
        while b"\0" not in self.heard:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.hear], [], [], left)[0]:
                raise BrowserError("the browser does not answer")
            part = os.read(self.hear, 1 << 16)
            if not part:
                raise BrowserError("the browser has ended")
            self.heard += part
        message, self.heard = self.heard.split(b"\0", 1)
        return json.loads(message)

    def take_event(self, message):
        page = self.pages.get(message.get("sessionId"))
        if page:
            page.take_event(message["method"], message["params"])

    def call(self, method, session=None, seconds=60, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.say, data):]
        end = time.monotonic() + seconds
        while True:
            answer = self.next_message(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.take_event(answer)

    def open(self, address, width=1280, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Runtime", "Log", "Page", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Page.navigate", url=address)
        page.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")
        page.settle()
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target
        self.errors = []
        self.requests = []

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]

    def take_event(self, method, params):
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str([one.get("value") for one in params["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def settle(self):
        """Until what was measured has been drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise BrowserError(f"never true: {expression}")
            time.sleep(0.05)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27}[key])

    def screenshot(self, path):
        """All of the page, from its top to its end."""
        box = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={**box, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
