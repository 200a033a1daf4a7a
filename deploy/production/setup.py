"""Settings, secrets and database of a site with compose files or systemd units.

    python3 -m deploy.production.setup files https://photofinish.example      on the host, as root
    python3 -m deploy.production.setup database                               in the container `upgrade`

`files` writes /etc/photofinish: a file for each process, mode 600, and a certificate where there is none. Existing
secrets and files stay, so it can run again. `database` creates roles, migrates, and grants the site's privileges; run
it before each start of new code.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from deploy.console import SetupError, captured, exit_status, note
from deploy.embedded import OWNER_ROLE, SITE_ROLE, create_roles, valkey_accounts
from deploy.launch import environment_text
from deploy.parties import kept_secret, myself, own_folder, write_private

ETC: Final = Path("/etc/photofinish")
SECRETS: Final = ("site-key", "postgres", "owner", "site", "broker-site", "broker-runner")
DOORBELL_PORT: Final = 6380
CERTIFICATE_DAYS: Final = 825  # more is refused by some clients


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="deploy.production.setup", description="settings and database of a site")
    acts = parser.add_subparsers(dest="act", required=True)
    files = acts.add_parser("files", help="write settings, secrets and, where there is none, a certificate")
    files.add_argument("url", help="where people reach the site: https://photofinish.example")
    files.add_argument("--into", type=Path, default=ETC, metavar="FOLDER")
    files.add_argument("--database", default="database:5432", metavar="HOST:PORT", help="of PostgreSQL")
    files.add_argument("--broker", default="broker:6379", metavar="HOST:PORT", help="of Valkey")
    files.add_argument("--doorbell-port", type=int, default=DOORBELL_PORT, help="of the proxy, for runners")
    acts.add_parser("database", help="create roles, migrate, grant privileges; settings come from the environment")
    options = parser.parse_args(arguments)
    if options.act == "database":
        return exit_status(upgrade_database)
    places = (options.database, options.broker, options.doorbell_port)
    return exit_status(lambda: write_files(options.url, options.into, *places))


def write_files(url: str, into: Path, database: str, broker: str, doorbell_port: int) -> None:
    found = re.fullmatch(r"https://(\[[0-9a-fA-F:]+\]|[\w.-]+)(:\d{1,5})?/?", url)
    if not found:
        raise SetupError(f"{url!r} is not the address of a site: expected https://photofinish.example")
    host = found[1]
    try:
        own_folder(into, myself(), 0o755)  # the proxy's and the broker's users read below it; secrets stay closed
    except OSError as error:
        raise SetupError(f"{into}: {error.strerror}; run this as root, or choose a folder with --into") from None
    kept = own_folder(into / "secrets", myself())
    secret = {name: kept_secret(kept / name, myself()) for name in SECRETS}
    own_folder(into / "acme", myself(), 0o755)
    ensure_certificate(own_folder(into / "tls", myself(), 0o755), host)

    def database_url(role: str, password: str, name: str) -> str:
        return f"postgresql://{role}:{password}@{database}/{name}"

    accounts = valkey_accounts({name: secret[f"broker-{name}"] for name in ("site", "runner")})
    acl = into / "valkey.acl"
    if not acl.exists():
        acl.write_text("\n".join(accounts) + "\n")  # digests of random passwords, for Valkey's own user
        acl.chmod(0o644)
    site = {
        "SECRET_KEY": secret["site-key"],
        "DATABASE_URL": database_url(SITE_ROLE, secret["site"], "photofinish"),
        "BROKER_URL": f"redis://site:{secret['broker-site']}@{broker}/0",
        "SITE_URL": url.rstrip("/"),
        "REPORT_STORE": "file:///var/lib/photofinish/reports",  # of the volume, or systemd's StateDirectory
        "TRUSTED_PROXIES": "127.0.0.1",  # compose.yaml replaces it by the address of its proxy
    }
    owner = {
        "SUPERUSER_URL": database_url("postgres", secret["postgres"], "postgres"),
        "OWNER_URL": database_url(OWNER_ROLE, secret["owner"], "photofinish"),
    }
    runner = {
        "PHOTOFINISH_URL": url.rstrip("/"),
        "RUNNER_TOKEN": "",
        "BROKER_URL": f"rediss://runner:{secret['broker-runner']}@{host}:{doorbell_port}/0",
        "RUNNER_HARDWARE": "cpu",
        "SANDBOX_IMAGE": "photofinish-sandbox:latest",
    }
    backup = {"BACKUP_FOLDER": "/var/backups/photofinish", "BACKUP_RECIPIENT": "", "BACKUP_DAYS": "30"}
    postgres = {"POSTGRES_PASSWORD": secret["postgres"]}
    files = {"site": site, "owner": owner, "backup": backup, "postgres": postgres, "runner": runner}
    for name, values in files.items():
        path = into / f"{name}.env"
        if path.exists():
            note(f"{path} stays as it is")
            continue
        write_private(path, environment_text(values), myself())
        note(f"{path}: {', '.join(values)}")


def ensure_certificate(folder: Path, host: str) -> None:
    """Make a self-signed certificate where there is none; replace it by a public authority's before people come."""
    certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
    if certificate.exists():
        return
    if shutil.which("openssl") is None:
        raise SetupError(f"openssl is missing: install it, or put a certificate into {certificate} and {key}")
    name = host.strip("[]")
    kind = "IP" if name.replace(".", "").isdigit() or ":" in name else "DNS"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", str(CERTIFICATE_DAYS), "-subj", f"/CN={name}", "-addext", f"subjectAltName={kind}:{name}"]
    done = captured([*command, "-keyout", str(key), "-out", str(certificate)])
    if done.returncode:
        raise SetupError(f"openssl made no certificate for {host}: {done.stderr.strip()[-400:]}")
    key.chmod(0o600)
    note(f"{certificate}: self-signed, for {host}; put the certificate of a public authority in its place")


def upgrade_database() -> None:
    """Create roles and database where SUPERUSER_URL is set, migrate as OWNER_URL, and grant the site's role its rights.

    Without SUPERUSER_URL (a managed PostgreSQL) both roles and the database exist already.
    """
    from psycopg.conninfo import conninfo_to_dict

    given = {name: os.environ.get(name, "") for name in ("DATABASE_URL", "OWNER_URL", "SUPERUSER_URL")}
    if not given["DATABASE_URL"] or not given["OWNER_URL"]:
        raise SetupError("DATABASE_URL and OWNER_URL are needed; `setup files` writes them to site.env and owner.env")
    site, owner = (conninfo_to_dict(given[name]) for name in ("DATABASE_URL", "OWNER_URL"))
    if given["SUPERUSER_URL"]:
        roles = {OWNER_ROLE: str(owner["password"]), SITE_ROLE: str(site["password"])}
        create_roles(given["SUPERUSER_URL"], roles)
    environment = {**os.environ, "DATABASE_URL": given["OWNER_URL"]}
    for act in (("migrate", "--no-input"), ("grant_site_role", str(site["user"]))):
        done = subprocess.run([sys.executable, "-m", "leaderboard.manage", *act], env=environment, check=False)
        if done.returncode:
            raise SetupError(f"`manage {act[0]}` failed; its output above has the reason")


if __name__ == "__main__":
    sys.exit(main())
