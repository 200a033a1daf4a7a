# Photofinish on one machine. Everything here is safe to run again.
#   PYTHON=python3.12          the Python that makes the virtual environment
#   PORT=8001                  where the site listens, on 127.0.0.1
#   PHOTOFINISH_STATE=folder   where data, secrets and logs lie (state/)
#   TORCH_INDEX_URL=address    a package index with the CPU build of torch (deploy/README.md)
#   IMAGE_EXTRAS=transformers  a layer of the sandbox image (problems/README.md)

PYTHON ?= python3

with = $(PYTHON) -m deploy.bootstrap --extras $(1) --
everything = server,embedded,runner
develop = $(everything),dev
benchmarks = $(develop),bench

.PHONY: manage help up down reset status logs backup nightly-backup try-restore restore undo-restore forget-old-database \
	image test test-fast check environment packages ci lock sbom audit bench bench-latency bench-board bench-rejudge bench-claim bench-scale load contest chaos pictures
help:
	@echo "make up      start everything, with sample submissions    make down   stop it, data stays"
	@echo "make status  what runs                                    make logs   follow its logs"
	@echo "make test    every test, on real services                 make check  ruff, mypy, contracts, ratchet"
	@echo "make test-fast   tests without containers, browsers and long runs: five minutes    make ci   all of it"
	@echo "make image   the sandbox image of this checkout          make bench   time ranked jobs here, by phase"
	@echo "make bench-board   time pages with 10,000 entries and 200,000 attempts; make bench-rejudge   apply large sets there"
	@echo "make bench-latency   time tests from sending to verdict, on an idle runner and back to back"
	@echo "make bench-claim   time a runner's claim beside 1,000,000 attempts; make bench-scale   acts and pages beside them"
	@echo "make load   visitors, a burst of submissions and event streams, from this machine"
	@echo "make contest   a whole competition with the real judge, a quarter of an hour on a quiet machine"
	@echo "make chaos   break a whole site on a schedule and audit its database; as root, about an hour (ARGS=--help)"
	@echo "make pictures   docs/img and docs/screens anew, every page of sample data; wants chromium"
	@echo "make manage ARGS=\"import_problems FOLDER\"   a management command of the site; without ARGS: all of them"
	@echo "make reset   forget everything (asks first)               make backup FILE=…, make restore FILE=…"
	@echo "make lock   hashes of the requirements anew             make sbom IMAGES=\"…\"   inventories, in sbom/"
	@echo "make audit  known vulnerabilities of the requirements"
	@echo "make undo-restore   back to the database of before a restore; make forget-old-database   drop it"

up:
	@$(call with,$(everything)) -m deploy.up

down status logs reset:
	@$(call with,$(everything)) -m deploy.control $@

image:
	@$(call with,$(everything)) -m deploy.image

bench:
	@$(call with,runner) -m benchmarks.judge $(ARGS)

bench-latency:
	@$(call with,$(everything)) -m benchmarks.latency $(ARGS)

bench-board:
	@$(call with,$(everything)) -m benchmarks.board $(ARGS)

bench-rejudge:
	@$(call with,$(everything)) -m benchmarks.rejudge $(ARGS)

bench-claim:
	@$(call with,$(everything)) -m benchmarks.claim $(ARGS)

bench-scale:
	@$(call with,$(benchmarks)) -m benchmarks.scale $(ARGS)

load:
	@$(call with,$(benchmarks)) -m benchmarks.load $(ARGS)

contest:
	@$(call with,$(develop)) -m tests.e2e.real_contest $(ARGS)

chaos:
	@$(call with,$(develop)) -m tests.chaos $(ARGS)

pictures:
	@$(call with,$(develop)) -m tests.e2e.pictures

manage:
	@$(call with,$(everything)) -m deploy.control manage $(ARGS)

backup nightly-backup try-restore restore undo-restore forget-old-database:
	@$(call with,$(everything)) -m deploy.backup $@ "$(FILE)"

test:
	@$(call with,$(develop)) -m tests.tools.test_run test $(ARGS)

test-fast:
	@$(call with,$(develop)) -m tests.tools.test_run fast $(ARGS)

check:
	@$(call with,$(develop)) -m tests.tools.test_run check

environment:
	@$(call with,$(develop)) -c ""

packages:
	@$(PYTHON) -m tests.tools.packages

ci:
	@$(call with,$(develop)) -m tests.tools.test_run ci $(ARGS)

lock:
	@$(call with,$(develop)) -m deploy.lock

sbom:
	@$(call with,$(develop)) -m deploy.inventory sbom $(IMAGES)

audit:
	@$(call with,$(develop)) -m deploy.inventory audit
