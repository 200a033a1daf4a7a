# The image of a runner, on top of the sandbox image of the same commit: the judge computes with the same torch as the
# containers that it starts. In the checkout, after `python -m deploy.image` (for GPUs with BASE_IMAGE=nvidia/cuda:…):
#   docker build -f deploy/production/runner.Dockerfile -t photofinish-runner --build-arg SANDBOX_IMAGE=photofinish-sandbox:… .
# The sandbox image must also be on the host, for the containers themselves. Without a package index, put wheels into
# ./wheels and add --build-arg PIP_OPTIONS=--no-index.
ARG SANDBOX_IMAGE=photofinish-sandbox:latest
FROM ${SANDBOX_IMAGE}
ARG PIP_OPTIONS=
COPY requirements/runner.txt wheels* /build/
RUN python3 -m venv /build/pip \
 && /build/pip/bin/pip --python /opt/venv/bin/python3 install --no-cache-dir --find-links=/build ${PIP_OPTIONS} --require-hashes -r /build/runner.txt \
 && rm -r /build
WORKDIR /opt/photofinish-runner
COPY problems problems
COPY sandbox sandbox
COPY runner runner
COPY leaderboard/__init__.py leaderboard/source.py leaderboard/
COPY leaderboard/client leaderboard/client
COPY leaderboard/cli leaderboard/cli
COPY leaderboard/wording leaderboard/wording
RUN python3 -m compileall -q .
COPY deploy/production/runner.sh /usr/local/bin/photofinish-runner
ENTRYPOINT ["sh", "/usr/local/bin/photofinish-runner"]
CMD ["work"]
