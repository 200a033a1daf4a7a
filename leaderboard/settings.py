"""Django's settings: one file for development, tests and production; differences come from env.py."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog
from psycopg.conninfo import conninfo_to_dict
from structlog.stdlib import ProcessorFormatter

from leaderboard import env
from problems.formats.git import HOST
from runner.broker import check_broker
from runner.wire import ANSWER_S, DIGEST

BASE = Path(__file__).parent.parent  # the checkout

# --- identity ---
DEBUG = env.boolean("DEBUG", default=False)
SECRET_KEY = env.secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS", ())
SITE_URL = env.text("SITE_URL", "http://127.0.0.1:8000").rstrip("/")
_site = urlsplit(SITE_URL)
if _site.scheme not in ("http", "https") or not _site.hostname:
    raise env.ConfigError(f"SITE_URL={SITE_URL!r} is not an address such as https://example.org")
SITE_INSECURE = env.boolean("SITE_INSECURE", default=False)  # safety.py: allows http to other machines
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ("127.0.0.1", "localhost", _site.hostname))
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")  # asgi.py: their X-Forwarded-For and X-Forwarded-Proto count
CSRF_TRUSTED_ORIGINS = [SITE_URL]

# --- parts ---
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "leaderboard.audit",
    "leaderboard.operations",
    "leaderboard.accounts",
    "leaderboard.competitions",
    "leaderboard.entrants",
    "leaderboard.submissions",
    "leaderboard.judging",
    "leaderboard.admissions",
    "leaderboard.confirmations",
    "leaderboard.review",
    "leaderboard.standings",
    "leaderboard.awards",
    "leaderboard.discussion",
    "leaderboard.inbox",
    "leaderboard.matches",
    "leaderboard.classes",
    "leaderboard.web",  # before allauth, whose templates it replaces
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.discord",
    "allauth.socialaccount.providers.github",
    "allauth.socialaccount.providers.google",
    "django.contrib.admin.apps.SimpleAdminConfig",  # last, so that our templates come first
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "leaderboard.web.middleware.security_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "leaderboard.web.static_files.compressed_answers",
    "leaderboard.web.middleware.conditional_answers",
    "leaderboard.web.limits.banned_networks",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "leaderboard.web.limits.page_limits",
    "leaderboard.web.middleware.plain_addresses",
    "leaderboard.web.middleware.pages_without_slash",
    "leaderboard.web.accounts.pages.staff_second_factor",
    "leaderboard.web.maintenance.changes_wait",
    "leaderboard.web.middleware.form_only_pages",
    "leaderboard.web.preview.preview_rights",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "leaderboard.web.urls"
ASGI_APPLICATION = "leaderboard.asgi.application"
APPEND_SLASH = False  # paths have no slash at the end (docs/http.md)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- database: PostgreSQL only; a unix socket or TCP, in any form that libpq understands ---


def _patience(name: str, requests_s: float, others_s: float) -> float:
    """Return a time limit in seconds; 0: no limit.

    A web process gives up early, because no visitor waits longer for a page. Worker, sweeper and commands may take
    longer.
    """
    return env.seconds(name, requests_s if env.SERVES_REQUESTS else others_s, least=0, most=86_400)


DATABASE_TIMEOUTS_S = {  # by PostgreSQL's names
    "statement_timeout": _patience("STATEMENT_TIMEOUT_S", 10, 3600),
    "lock_timeout": _patience("LOCK_TIMEOUT_S", 5, 60),
    "idle_in_transaction_session_timeout": _patience("IDLE_IN_TRANSACTION_TIMEOUT_S", 30, 600),
}


def _database(url: str, pool_max: int) -> dict[str, Any]:
    parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    limits = " ".join(f"-c {name}={round(1000 * limit)}" for name, limit in DATABASE_TIMEOUTS_S.items())  # milliseconds
    # All queries are short, so JIT compilation would take longer than running them. Options of the address take
    # precedence.
    options: dict[str, Any] = {"options": f"-c jit=off {limits} {parts.pop('options', '')}".strip()}
    if pool_max:
        options["pool"] = {"min_size": 1, "max_size": pool_max, "timeout": 10}
    settings = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.pop("dbname", ""),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": parts.pop("port", ""),
        "OPTIONS": {**parts, **options},
        "CONN_HEALTH_CHECKS": True,  # replaces, within seconds, a connection that died in the pool with its server
    }
    if not settings["NAME"]:
        raise env.ConfigError("DATABASE_URL names no database; expected postgresql://user:password@host/database")
    return settings


WEB_PROCESSES = env.whole("WEB_PROCESSES", 1, least=1, most=64)  # of this host: serve.py, limits.share
WEB_DRAIN_S = env.seconds("WEB_DRAIN_S", 8, least=0, most=300)  # web/leaving.py
DATABASE_URL = env.text("DATABASE_URL")
DATABASE_POOL_MAX = env.whole("DATABASE_POOL_MAX", 24, least=0, most=200)  # web/places.py divides them; 0: no pool
if 0 < DATABASE_POOL_MAX < 8:
    raise env.ConfigError(f"DATABASE_POOL_MAX={DATABASE_POOL_MAX}: each of 8 classes of requests needs a connection")
DATABASES = {"default": _database(DATABASE_URL, DATABASE_POOL_MAX)}

# --- queue ---
BROKER_URL = env.text("BROKER_URL")
BROKER_CA_FILE = env.text("BROKER_CA_FILE", "")
try:
    check_broker(BROKER_URL, BROKER_CA_FILE)
except ValueError as error:
    raise env.ConfigError(str(error)) from None

# --- people ---
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["leaderboard.accounts.backend.AccountBackend"]
LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{rule}Validator"}
    for rule in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
# web/limits.py counts for allauth: in the database, and so that nobody locks another person out
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_ADAPTER = "leaderboard.web.accounts.adapters.AccountAdapter"
_forms = "leaderboard.web.accounts.forms"
ACCOUNT_FORMS = {
    "login": f"{_forms}.SignInForm",
    "signup": f"{_forms}.SignUpForm",
    "change_password": f"{_forms}.PasswordForm",
    "add_email": f"{_forms}.AddressForm",
    "reset_password": f"{_forms}.ForgottenForm",
    "reset_password_from_key": f"{_forms}.NewPasswordForm",
    "set_password": f"{_forms}.FirstPasswordForm",
    "reauthenticate": f"{_forms}.AgainForm",
}
MFA_FORMS = {
    "authenticate": f"{_forms}.CodeForm",
    "reauthenticate": f"{_forms}.CodeAgainForm",
    "activate_totp": f"{_forms}.AppForm",
    "add_webauthn": f"{_forms}.KeyForm",
}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_AUTHENTICATED_LOGIN_REDIRECTS = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_PREVENT_ENUMERATION = "strict"  # no page says whether an address has an account
ACCOUNT_CHANGE_EMAIL = True  # one address each; the old one counts until the new one is confirmed
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Photofinish: "
ACCOUNT_REAUTHENTICATION_REQUIRED = True
MFA_ADAPTER = "leaderboard.web.accounts.adapters.FactorAdapter"
SOCIALACCOUNT_ADAPTER = "leaderboard.web.accounts.adapters.ProviderAdapter"
SOCIALACCOUNT_FORMS = {"signup": "leaderboard.web.accounts.forms.SocialSignUpForm"}
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_AUTO_SIGNUP = False  # everybody chooses a name
_clients = {
    "github": (env.text("GITHUB_CLIENT_ID", ""), env.text("GITHUB_CLIENT_SECRET", "")),
    "discord": (env.text("DISCORD_CLIENT_ID", ""), env.text("DISCORD_CLIENT_SECRET", "")),
    "google": (env.text("GOOGLE_CLIENT_ID", ""), env.text("GOOGLE_CLIENT_SECRET", "")),
}
for _name, _pair in _clients.items():
    if any(_pair) and not all(_pair):
        raise env.ConfigError(f"{_name.upper()}_CLIENT_ID and {_name.upper()}_CLIENT_SECRET belong together; set both")
SOCIALACCOUNT_PROVIDERS = {
    name: {"APPS": [{"client_id": client, "secret": secret}], "OAUTH_PKCE_ENABLED": True}
    for name, (client, secret) in _clients.items()
    if client
}
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Photofinish"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = _site.scheme == "http"  # browsers allow it on localhost alone
STAFF_SECOND_FACTOR = env.boolean("STAFF_SECOND_FACTOR", default=False)
RANKED_NEEDS_EMAIL = env.boolean("RANKED_NEEDS_EMAIL", default=False)

# --- cookies and headers; web/middleware.py sets the rest of the headers ---
_https = _site.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # X-Frame-Options: web/middleware.py sets it
    "security.W005",  # HSTS for subdomains and preloading: for the owner of the domain to decide
    "security.W008",  # http is redirected by the proxy
    "security.W021",
]

# --- static files ---
STATIC_URL = "/static/"
_pictures = BASE / "docs" / "img"  # of web/documents.py
STATICFILES_DIRS = [("docs", _pictures)] if _pictures.is_dir() else []
STATIC_ROOT = env.text("STATIC_ROOT", "") or None  # where `collectstatic` puts them; optional
WHITENOISE_USE_FINDERS = True  # serves from the apps as well, so that collecting is optional
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ROOT = BASE / "leaderboard" / "web" / "root"  # files at the top of the site, such as /favicon.ico
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "leaderboard.web.static_files.FingerprintedFiles"},
}

# --- time and language ---
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

# --- HTTP API ---
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "leaderboard.web.errors.handle",
    "STRICT_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Photofinish",
    "DESCRIPTION": "A public leaderboard for GPU kernels whose results hold up.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",  # calls are grouped by the part after it
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "BatchState": "leaderboard.web.api.batches.STATES",
        "BatchMode": "leaderboard.web.api.batches.MODES",
        "TrackKind": "leaderboard.competitions.models.Track.KINDS",
        "RejudgeKind": "leaderboard.rejudging.sets.Kind.values",
        "GradingState": "leaderboard.web.api.grading.STATES",
        "PredictedBound": "leaderboard.matches.models.BOUNDS",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "leaderboard.web.api.schema.describe_areas",
        "leaderboard.web.api.schema.add_errors",
    ],
}

# --- limits of size ---
REQUEST_LIMIT_BYTES = 20_000_000  # of any request's body; asgi.py stops reading at this size (a report may have 16 MB)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000  # of a form without its files; a submission may have 1 MB
FILE_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100
DATA_UPLOAD_MAX_NUMBER_FILES = 4

# --- limits of rate and time, for competitors and runners ---
SUBMISSIONS_PER_HOUR = env.whole("SUBMISSIONS_PER_HOUR", 60, least=1, most=100_000)  # per owner
UNFINISHED_AT_ONCE = env.whole("UNFINISHED_AT_ONCE", 10, least=1, most=10_000)  # queued and running, per owner
# Candidates of batches, per owner; a whole batch fits.
CANDIDATES_PER_HOUR = env.whole("CANDIDATES_PER_HOUR", 2_000, least=256, most=1_000_000)
CANDIDATES_AT_ONCE = env.whole("CANDIDATES_AT_ONCE", 512, least=256, most=10_000)  # queued and running
LEASE_S = env.seconds("LEASE_S", 60, least=1, most=3600)
RENEW_S = env.seconds("RENEW_S", 15, least=0.1, most=1200)
if RENEW_S * 2 > LEASE_S:
    raise env.ConfigError(
        f"RENEW_S={RENEW_S} must be at most half of LEASE_S={LEASE_S}, or one lost packet ends a lease"
    )
CLAIM_TIMEOUT_S = env.seconds("CLAIM_TIMEOUT_S", 8, least=0.1, most=ANSWER_S - 1)  # the runner gives up at ANSWER_S
ATTEMPT_OVERHEAD_S = env.seconds("ATTEMPT_OVERHEAD_S", 900, least=1, most=86_400)  # beyond a problem's own timeouts
HINT_COMMAND = env.words("HINT_COMMAND", ())  # `kernelguard --api-mode`: review/rules/static_check.py; (): no checker
PROBLEM_GIT_HOSTS = env.words("PROBLEM_GIT_HOSTS", ())  # competitions/importing.py; (): nothing is fetched
for _host in PROBLEM_GIT_HOSTS:
    if not HOST.fullmatch(_host):
        raise env.ConfigError(f"PROBLEM_GIT_HOSTS: {_host!r} is no host such as github.com or git.example.org/team")
REMEASURE_AFTER_S = env.seconds("REMEASURE_AFTER_S", 120, least=0, most=3600)  # first wait for a calmer machine
# judging/fleet.py refuses older runners, and other images of the sandbox.
RUNNER_LEAST_VERSION = env.matching("RUNNER_LEAST_VERSION", "", pattern=r"\d+(\.\d+){0,2}", shape="1.2.3")
RUNNER_IMAGES = env.pairs("RUNNER_IMAGES", value=DIGEST, shape="HARDWARE=sha256:DIGEST")
SWEEP_EVERY_S = env.seconds("SWEEP_EVERY_S", 15, least=0.1, most=600)
SWEEPER_ACTS = (  # of other apps, and the seconds between two calls
    ("leaderboard.inbox.collect.collect", 15.0),
    ("leaderboard.inbox.deliver.deliver", 15.0),
    ("leaderboard.competitions.importing.fetch_waiting", 3.0),
    ("leaderboard.admissions.compiled.end_unranked", 60.0),
    ("leaderboard.web.dataset.releases.publish_due", 600.0),
)

# --- monitoring ---
METRICS_TOKEN = env.secret("METRICS_TOKEN", "")  # "": there is no /metrics

OPERATOR_MAIL = env.words("OPERATOR_MAIL", ())  # addresses that get notices
OPERATOR_WEBHOOK = env.address("OPERATOR_WEBHOOK", "", ("https", "http"))  # gets them as JSON: {"text": "…"}

# --- reports of runners: judging/archive.py ---
REPORT_STORE = env.address("REPORT_STORE", "", ("file", "s3"))  # "": they stay in the database
REPORT_DAYS = {  # by phase; 0: for ever, as reports of contests always are
    "test": env.whole("REPORT_DAYS_TEST", 90, least=0, most=36_500),
    "benchmark": env.whole("REPORT_DAYS_BENCHMARK", 90, least=0, most=36_500),
    "profile": env.whole("REPORT_DAYS_PROFILE", 90, least=0, most=36_500),
    "practice": env.whole("REPORT_DAYS_PRACTICE", 0, least=0, most=36_500),
    "afterwards": env.whole("REPORT_DAYS_AFTERWARDS", 0, least=0, most=36_500),
}

PROGRESS_DAYS = env.whole("PROGRESS_DAYS", 90, least=0, most=36_500)  # operations/chores.py; 0: for ever
QUOTA_LINE_DAYS = env.whole("QUOTA_LINE_DAYS", 90, least=0, most=36_500)
for _name, _days in (("PROGRESS_DAYS", PROGRESS_DAYS), ("QUOTA_LINE_DAYS", QUOTA_LINE_DAYS)):
    if 0 < _days < 8:
        raise env.ConfigError(f"{_name}={_days}: the database keeps these rows for more than a week; 0 keeps them all")

# --- data sets: web/dataset/releases.py ---
DATASET_FOLDER = env.text("DATASET_FOLDER", "")  # "": none is made
DATASETS_KEPT = env.whole("DATASETS_KEPT", 7, least=1, most=1_000)

# --- mail ---
MAIL_URL = env.address("MAIL_URL", "", ("smtp", "smtps", "file"))
_mail = urlsplit(MAIL_URL)
_backend = {"": "dummy", "file": "filebased"}.get(_mail.scheme, "smtp")
MAIL_BACKEND = EMAIL_BACKEND = f"django.core.mail.backends.{_backend}.EmailBackend"
if _backend == "smtp":
    EMAIL_BACKEND = "leaderboard.operations.outbox.EmailBackend"  # the sweeper sends with MAIL_BACKEND
EMAIL_FILE_PATH = unquote(_mail.path)
EMAIL_HOST, EMAIL_PORT = _mail.hostname or "", _mail.port or (465 if _mail.scheme == "smtps" else 587)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_mail.username or ""), unquote(_mail.password or "")
EMAIL_USE_SSL = _mail.scheme == "smtps"
EMAIL_USE_TLS = _mail.scheme == "smtp" and bool(EMAIL_HOST_USER)  # a relay on the same host has neither
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("MAIL_FROM", f"photofinish@{_site.hostname}")

# --- logs: one JSON object a line, the same from Django, the worker and the sweeper ---
LOG_LEVEL = env.one_of("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
_shared: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": ProcessorFormatter,
            "processors": [ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
            "foreign_pre_chain": _shared,
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "httpx": {"level": "WARNING"},  # its lines name addresses; that of OPERATOR_WEBHOOK is a secret
        "pika": {"level": "CRITICAL"},  # reports each lost connection with a traceback; broker.py reports it in a line
    },
}
structlog.configure(
    processors=[*_shared, ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=False,
)

# --- errors, for those who collect them with Sentry ---
SENTRY_DSN = env.address("SENTRY_DSN", "", ("https", "http"))
if SENTRY_DSN:
    import sentry_sdk  # of the extra `sentry`
    from sentry_sdk.scrubber import DEFAULT_DENYLIST, EventScrubber

    sentry_sdk.init(
        SENTRY_DSN,
        send_default_pii=False,  # neither cookies, nor tokens, nor names
        event_scrubber=EventScrubber(denylist=[*DEFAULT_DENYLIST, "x-popcorn-cli-id"]),  # a header with a token
        include_local_variables=False,  # a competitor's source may be among them
        max_request_body_size="never",
        max_breadcrumbs=0,
    )
