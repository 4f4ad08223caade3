"""Runs the processes of deploy/compose.yaml from the image that scripts/test-image.sh has built.

    secrets -> MongoDB, RabbitMQ, Redis -> api, worker, import-worker, scheduler -> a URL, a feed

Each process gets what compose.yaml gives it: command, variables, secrets, user, temporary file
systems, a root that can't be written, no new privileges. Without a container engine, these are not
enforced: limits of memory, CPU, processes and files, the separate networks, and `init`. MongoDB,
RabbitMQ and Redis are this machine's, not compose.yaml's images. The secrets open RabbitMQ and
Redis; MongoDB is used without a password, as mongosh would have to make its users.

Called inside namespaces that end with it, with the folder that has `root`, the image's files, and
`image.json`, its configuration.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from browser.site import Site, feed, served_site
from servers.mongod import MongoServer
from servers.private import Missing
from servers.rabbitmq import RabbitServer
from servers.redis import RedisServer

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
API = "http://127.0.0.1:8081"
TIMEOUT_SECONDS = 120.0
POSTINGS = 3

# What a process of the image may do, as it reports itself.
PROBE = """
import json, os, pathlib
def can_write(path):
    try:
        pathlib.Path(path).write_text("x")
    except OSError:
        return False
    return True
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "user": [os.getuid(), os.getgid(), *os.getgroups()],
    "capabilities": int(status["CapEff"], 16),
    "no_new_privileges": status["NoNewPrivs"].strip() == "1",
    "secrets": sorted(os.listdir("/run/secrets")),
    "writes": [path for path in ("/opt/webloom/x", "/etc/x", "/run/secrets/x", "/tmp/x", "/data/x")
               if can_write(path)],
}))
"""

# What is installed, looked up in the bill of materials that came with the wheel.
BILL = """
import importlib.metadata, json, re
webloom = importlib.metadata.distribution("webloom")
[path] = [each for each in webloom.files if each.match("*.dist-info/sboms/*.cdx.json")]
bill = json.loads(path.read_text())
listed = {(each["name"], each["version"]) for each in bill["components"]}
installed = {(re.sub("[-_.]+", "-", each.name).lower(), each.version)
             for each in importlib.metadata.distributions()}
print(json.dumps({
    "components": len(listed),
    "missing": sorted(name for name, version in installed - listed if name != "webloom"),
}))
"""


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for people


def program(name: str) -> str:
    if found := shutil.which(name):
        return found
    raise SystemExit(f"The container image is not tested: {name} is not installed")


def mount(*arguments: str | Path) -> None:
    subprocess.run((program("mount"), *arguments), check=True)  # noqa: S603 - our own arguments


@dataclass(kw_only=True)
class Container:
    """A service of compose.yaml, as far as namespaces and mounts can make one."""

    name: str
    service: dict[str, Any]
    config: dict[str, Any]  # the image's: Env, Entrypoint, User, WorkingDir
    work: Path
    more: dict[str, str]  # variables beside those of compose.yaml
    data: Path | None = None  # what all processes share as /data, if they do
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def root(self) -> Path:
        return self.work / "containers" / self.name

    @property
    def log(self) -> str:
        return (self.work / f"{self.name}.log").read_text(errors="replace")

    def make(self) -> None:
        self.root.mkdir(parents=True)
        mount("--bind", self.work / "root", self.root)
        mount("-o", "remount,bind,ro", self.root)
        for place in self._temporary():
            path, _, options = place.partition(":")
            mount("-t", "tmpfs", "-o", options or "mode=1777", "tmpfs", f"{self.root}{path}")
        if self.data is not None:
            mount("--bind", self.data, self.root / "data")
        secrets = self.root / "run/secrets"
        mount("-t", "tmpfs", "tmpfs", secrets)
        for name in self.service["secrets"]:
            shutil.copy(self.work / "secrets" / name, secrets)
        mount("-o", "remount,ro", secrets)
        mount("--rbind", "/dev", self.root / "dev")
        mount("-t", "proc", "proc", self.root / "proc")
        mount("--bind", "/etc/hosts", self.root / "etc/hosts")

    def _temporary(self) -> list[str]:
        """A named volume starts empty and belongs to the user, as /data does in the image."""
        user, _, group = str(self.service["user"]).partition(":")
        volumes = [each.partition(":")[2] for each in self.service.get("volumes", [])]
        return [*self.service["tmpfs"], *(f"{to}:uid={user},gid={group}" for to in volumes)]

    def command(self, *words: str) -> list[str]:
        user, _, group = str(self.service["user"]).partition(":")
        return [
            program("setpriv"), "--no-new-privs",
            program("unshare"), f"--root={self.root}", f"--wd={self.config['WorkingDir']}",
            f"--setgid={group}", f"--setuid={user}", *words,
        ]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        given = dict(each.split("=", 1) for each in self.config["Env"])
        return given | {n: str(v) for n, v in self.service["environment"].items()} | self.more

    def start(self) -> None:
        words = [*self.config["Entrypoint"], *self.service["command"]]
        with (self.work / f"{self.name}.log").open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - the image's own command
                self.command(*words), env=self.environment, stdout=log, stderr=log
            )

    def run(self, *words: str) -> str:
        """Like `docker exec`. Raises AssertionError if it fails."""
        done = subprocess.run(  # noqa: S603 - compose.yaml's own command, or the probe
            self.command(*words), env=self.environment, capture_output=True, text=True, check=False
        )
        check(done.returncode == 0, f"{self.name}: {words[0]} failed: {done.stderr}")
        return done.stdout

    def stop(self) -> int:
        assert self.process is not None  # noqa: S101 - it was started
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=TIMEOUT_SECONDS)


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def until(what: str, look: Callable[[], Any], containers: list[Container]) -> Any:
    """The first result that is not false. A process that has ended is not waited for."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    seen: Any = None
    while time.monotonic() < deadline:
        for each in containers:
            ended = each.process is not None and each.process.poll() is not None
            check(not ended, f"{each.name} has ended")
        try:
            if seen := look():
                return seen
        except urllib.error.URLError as error:
            seen = error
        time.sleep(0.2)
    raise AssertionError(f"waited {TIMEOUT_SECONDS:.0f} s for {what}; the last answer: {seen}")


def ask(method: str, path: str, key: str, body: object = None) -> Any:
    request = urllib.request.Request(  # noqa: S310 - our own API
        f"{API}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own API
        text = answer.read()
    return json.loads(text) if answer.headers.get_content_type() == "application/json" else text


@contextmanager
def servers(work: Path, secrets: Path) -> Iterator[Path | None]:
    """The three servers at the addresses that the secrets name. Where there is no mongod: the
    folder of a SQLite file that takes its place."""
    with ExitStack() as stack:
        password = (secrets / "redis_user").read_text().split()[1]
        redis = RedisServer(work / "redis", "--requirepass", password)
        redis.port = 6379
        stack.enter_context(redis.running())
        rabbitmq = RabbitServer(
            work / "rabbitmq", *(secrets / "rabbitmq_user").read_text().splitlines()
        )
        rabbitmq.port = 5672
        stack.enter_context(rabbitmq.running())
        store = secrets / "webloom_store"
        try:
            mongodb = MongoServer(work / "mongodb", replica_set="rs0")
        except Missing as missing:
            say(f"MongoDB is left out, a SQLite file takes its place: {missing}")
            store.write_text("sqlite:////data/webloom.db")
            yield work / "data"
            return
        mongodb.port = 27017
        stack.enter_context(mongodb.running())
        store.write_text(re.sub("//.*@", "//", store.read_text()))
        yield None


def run(work: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    config = json.loads((work / "image.json").read_text())["Docker"]["config"]
    secrets = work / "secrets"
    subprocess.run((DEPLOY / "make-secrets.sh", secrets), check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own script
    key = (secrets / "api_key").read_text().strip()
    (work / "root/run/secrets").mkdir(parents=True, exist_ok=True)  # as an engine does
    with served_site() as site, servers(work, secrets) as data:
        if data is not None:
            data.mkdir()
            shutil.chown(data, 10001, 10001)
        containers = [
            Container(
                name=name,
                service=service,
                config=config,
                work=work,
                more={"WEBLOOM_ALLOW_ADDRESSES": f"127.0.0.1:{site.port}"},
                data=data,
            )
            for name, service in compose["services"].items()
            if service["image"].startswith("webloom:")
        ]
        try:
            start(containers, key)
            use(containers, key, site)
        except BaseException:
            for each in containers:
                say(f"--- {each.name}\n{each.log[-4000:]}")
            raise
        finally:
            for each in containers:
                if each.process is not None:
                    each.process.kill()


def start(containers: list[Container], key: str) -> None:
    """One after the other: a mongod under Wine crashes when several make its indexes at once."""
    for each in containers:
        each.make()
        each.start()
        started = containers[: containers.index(each) + 1]

        def is_known(number: int = len(started)) -> bool:
            health = ask("GET", "/health", key)
            return len(health["workers"]) + len(health["others"]) == number

        until(f"{each.name} to be in /health", is_known, started)
    say(f"Started {', '.join(each.name for each in containers)}")


def use(containers: list[Container], key: str, site: Site) -> None:
    until("/health to say ok", lambda: ask("GET", "/health", key)["status"] == "ok", containers)
    say(f"{API}/health says ok")
    check(b"<title>" in ask("GET", "/", key), "the image has no admin UI")
    report = json.loads(containers[0].run("python", "-c", BILL))
    check(report["missing"] == [], f"the bill of materials lacks {report['missing']}")
    say(f"The image has a bill of materials of {report['components']} components")

    url = site.serve("/page", b"<title>A page for the image</title>")
    ask("POST", "/metadata", key, {"url": url})
    found = f"/metadata?url={quote(url, safe='')}"

    def fetched() -> Any:
        record = ask("GET", found, key)
        return record if record["status"] not in ("PENDING", "IN_PROGRESS") else None

    record = until("the URL to be fetched", fetched, containers)
    check(record["status"] == "COMPLETED", f"the URL ended as {record}")
    check("for the image" in record["metadata"]["page_source"], "the source is another one")
    say(f"{url} ended as COMPLETED")

    source = site.serve("/jobs.rss", feed(POSTINGS), "application/rss+xml")
    ask("POST", "/api/feeds", key, {"url": source})
    ask("POST", "/api/import/run", key)

    def imported() -> Any:
        runs = ask("GET", "/api/import-logs", key)["data"]
        return [run for run in runs if run["status"] != "running"]

    [imported_run, *_] = until("the feed to be imported", imported, containers)
    counted = (imported_run["status"], imported_run["newJobs"])
    check(counted == ("completed", POSTINGS), f"the import ended as {imported_run}")
    say(f"{source} was imported: {POSTINGS} new postings")

    for each in containers:
        confined(each)
        each.run(*each.service["healthcheck"]["test"][1:])
    say("Health checks pass; each process has its user, its secrets and no way to write elsewhere")
    for each in reversed(containers):
        code = each.stop()
        check(code == 0, f"{each.name} ended with {code}")
    say("Every process ended by SIGTERM with 0")


def confined(container: Container) -> None:
    report = json.loads(container.run("python", "-c", PROBE))
    user, _, group = container.config["User"].partition(":")
    expected = {
        "user": [int(user), int(group)],
        "capabilities": 0,
        "no_new_privileges": True,
        "secrets": sorted(container.service["secrets"]),
        "writes": ["/tmp/x", "/data/x"],  # noqa: S108 - inside of the container
    }
    check(report == expected, f"{container.name}: {report} where {expected} was expected")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
