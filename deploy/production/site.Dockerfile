# The image of web process, site worker, sweeper and `manage`; the command decides. In the checkout:
#   docker build -f deploy/production/site.Dockerfile -t photofinish-site --build-arg BASE_IMAGE=python:3.11-slim-bookworm@sha256:… .
# It holds no setting and no secret. --build-arg EXTRAS='server backup sentry s3 parquet' adds optional parts. Without a package
# index, put wheels into ./wheels and add --build-arg PIP_OPTIONS=--no-index. --build-arg PACKAGES=git adds packages of the
# system: git, for problem sets by address. For the legacy builder and BuildKit.
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS builder
ARG PIP_OPTIONS=
ARG EXTRAS='server backup'
COPY requirements wheels* /build/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --find-links=/build ${PIP_OPTIONS} --require-hashes \
      $(for extra in ${EXTRAS}; do echo "-r /build/${extra}.txt"; done) \
 && /opt/venv/bin/pip uninstall --yes --quiet pip

FROM ${BASE_IMAGE}
ARG PACKAGES=
RUN if [ -n "${PACKAGES}" ]; then \
      apt-get update && apt-get install --yes --no-install-recommends ca-certificates ${PACKAGES} && rm -r /var/lib/apt/lists/*; fi
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin photofinish \
 && install -d -o photofinish -g photofinish -m 700 /var/lib/photofinish/reports /var/lib/photofinish/datasets
COPY --from=builder /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 STATIC_ROOT=/opt/photofinish/static
WORKDIR /opt/photofinish
COPY problems problems
COPY runner/__init__.py runner/broker.py runner/wire.py runner/
COPY runner/evidence runner/evidence
COPY deploy deploy
COPY docs docs
COPY leaderboard leaderboard
# The settings of this line reach no file: collectstatic needs some to start.
RUN python3 -m compileall -q . \
 && SECRET_KEY=$(head -c 64 /dev/urandom | base64 -w 0) DATABASE_URL=postgresql://nobody@127.0.0.1/none BROKER_URL=redis://127.0.0.1:1/0 \
    python3 -m leaderboard.manage collectstatic --no-input --verbosity 0 \
 && chmod -R a+rX .
USER photofinish
EXPOSE 8000
CMD ["python3", "-m", "leaderboard.serve", "--host", "0.0.0.0", "--port", "8000"]
