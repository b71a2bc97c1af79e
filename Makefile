# CI calls the targets that a developer calls, and no others. `make` lists them. People run
# `make test`: on any Linux with Go, as any user. `make ci` runs everything.
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
# Stages run one after another, also with -j: people read their output, and the
# tests that measure time need the machine for themselves.
.NOTPARALLEL:

# Tools are pinned, so that a new release of one cannot break an old commit.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
COSIGN      := github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3

FUZZTIME ?= 1s
TORTURE  ?= 1m
POWERCUT ?= 10m
ROUNDS   ?= 5
PATIENCE ?= 20m
VERSION  := $(or $(value VERSION),$(shell git describe --always --dirty 2>/dev/null))
# In the environment of recipes: a name that is pasted into a line of the shell
# could end the line, and a tag may have any name.
export VERSION REGISTRY BUILDER

# Tests are compiled as the programs are: without C, and without the path of the checkout. So the stages share what
# was compiled, and so do all checkouts. Only the race detector needs C.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# A checkout that git refuses to read (none, or another user's, as in many
# containers) is built without a revision, where go build would fail.
ifeq ($(VERSION),)
GOFLAGS += -buildvcs=false
endif

# The sidecar and the injector are for Linux; the plugin is for every system on
# which kubectl is. (image-tar builds for Linux anywhere.)
PLUGIN   := ./cmd/kubectl-ullage
PROGRAMS := $(if $(filter linux,$(shell go env GOOS)),./cmd/...,$(PLUGIN))

# Tests of one package each; ./test/... has those that need more than one.
UNIT := $(if $(filter linux,$(shell go env GOOS)),./cmd/... ./internal/... ./deploy/... ./test/lint ./test/repo ./test/here ./test/try ./test/evidence,$(PLUGIN))

# What make ci runs after make test: minutes each, or they need root, a cluster, or servers.
REST := vuln fuzz arm64 browser java-test java-release applog crash fault-quick demo-hindsight demo-sinks package e2e

# Emulation shows the other compiler's code and its alignment, not the order of memory between two
# cores: package ring argues for that.
ARM64 := $(addprefix ./internal/,line/cut line/format line/mark line/ul ship/queue ship/ring ship/frame \
  segment segment/index segment/seek)

# A stage's go test, which names what was skipped because the machine lacks something; in CI
# that is a failure. Make test has HERE: it builds nothing for its tests, and names at its end
# what all stages skipped.
gotest = $(if $(CI),go test,go run ./test/here -target $@$(if $(HERE), -list bin/skipped) --)
test: HERE = $(if $(CI),,yes)
# RACE is go test's flags for unit tests under the race detector, which takes twice the time.
race ci: RACE := -race -p $$((2 * $$(getconf _NPROCESSORS_ONLN)))
# In CI no test is skipped because something is missing (see lab.Needs).
ci: export CI := true

stage = @printf '\n=== %s\n' '$(1)'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build the programs into bin
	$(call stage,build)
	go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $(PROGRAMS)
	install -m 755 $(PLUGIN)/kubectl_complete-ullage bin/

.PHONY: test
test: forget build lint unit chart jvm ## what needs neither root nor a cluster (ten minutes); at the end it names the rest
	@if [ -n "$(HERE)" ]; then test/left.sh bin/skipped race $(REST); else printf '\n=== tests passed\n'; fi

.PHONY: forget
forget:
	@mkdir -p bin && rm -f bin/skipped

.PHONY: ci
ci: setup test $(REST) ## everything: what CI runs (needs root)
	@printf '\n=== all passed\n'

.PHONY: setup
setup: ## install what the tests need and this machine lacks
	$(call stage,setup)
	@test/setup.sh

.PHONY: setup-evidence
setup-evidence:
	$(call stage,setup)
	@test/setup.sh evidence

.PHONY: unit
unit: ## unit tests
	$(call stage,unit tests$(if $(RACE), under the race detector))
	$(if $(RACE),CGO_ENABLED=1) $(gotest) $(RACE) -timeout 30m $(UNIT)

.PHONY: arm64
arm64: ## unit tests of what reads and writes bytes, as arm64 under emulation (qemu-user-static, two minutes)
	$(call stage,arm64)
	GOARCH=arm64 go test -count=1 -exec qemu-aarch64-static $(ARM64)

.PHONY: race
race: unit ## unit tests under the race detector (twice the time; a C compiler)

.PHONY: lint
lint: vet ## all linters
	$(call stage,lint)
	@# gofmt: one form of code, and no debate about it.
	@unformatted=$$(gofmt -l cmd internal test deploy); \
	  if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w fixes it):"; echo "$$unformatted"; exit 1; fi
	@# staticcheck: bugs, dead code and misuse of the standard library that vet does not look for.
	go run $(STATICCHECK) ./...
	cd deploy/release && go run $(STATICCHECK) ./...
	cd test/browser && go run $(STATICCHECK) ./...
	@# actionlint: workflows, which only run after they are pushed.
	go run $(ACTIONLINT)
	@# lint.sh: the size of functions and types, and how the files of a package use each other.
	@test/lint.sh

.PHONY: vet
vet: ## go vet: mistakes that compile (formats, copied locks, lost cancels)
	$(call stage,vet)
	go vet ./...
	go vet -C deploy/release ./...
	go vet -C test/browser ./...
	@# The plugin and its tests compile for the other systems, too.
	@for os in darwin windows; do GOOS=$$os go vet $(PLUGIN) || exit 1; done
	@# The sidecar and its tests compile where types of the kernel have other sizes, too.
	@for arch in ppc64le s390x; do GOARCH=$$arch go vet ./cmd/ullage || exit 1; done

.PHONY: vuln
vuln: ## known vulnerabilities that our code can reach (network)
	$(call stage,vuln)
	@test/vuln.sh

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME, 1s (five minutes)
	$(call stage,fuzz)
	@test/fuzz.sh $(FUZZTIME) $(UNIT)

.PHONY: browser
browser: setup ## the pages that ullage writes, in a real headless browser (needs one; two minutes)
	$(call stage,browser)
	go test -C test/browser -count=1 ./...

.PHONY: pictures
pictures: setup ## the pictures of README.md, from a real run into docs/pictures (a browser and a JDK; a minute)
	$(call stage,pictures)
	ULLAGE_PICTURES=$(CURDIR)/docs/pictures go test -C test/browser -count=1 -run '^TestPicturesOfTheDocuments$$' .

.PHONY: java
java: ## the jars for Java applications, into bin/java (all but two without the network)
	$(call stage,java)
	@VERSION=$(VERSION) java/build.sh

.PHONY: java-test
java-test: java ## the jars on each installed JDK from 17 on, with real logging libraries (network, once)
	$(call stage,java tests)
	@java/test.sh

.PHONY: java-release
java-release: ## the jars as Maven Central wants them, signed, in a directory; projects log by coordinates (network, once)
	$(call stage,java release)
	@java/release.sh

.PHONY: adopt-kills
adopt-kills: ## kill a sidecar, and 'ullage adopt', 200 times each while it adopts or releases a JVM (root, JVMs of 11 to 25; minutes)
	$(call stage,kills while a JVM is adopted)
	ADOPT_ROUNDS=50 $(gotest) -count=1 -v -timeout 60m ./test/jvm -run '^TestAKill(OfTheCommand)?LeavesNoOutputBehind$$'

.PHONY: raise-latency
raise-latency: ## the time from a changed annotation to the first durable line of the new level, fifty times (a JDK; three minutes)
	$(call stage,raise latency)
	go test -run '^$$' -bench RaiseByAnnotation -benchtime 50x -timeout 30m ./test/jvm

.PHONY: adopt-latency
adopt-latency: ## the time from the command 'ullage adopt' to the first line on the tmpfs, and the attach's part of it, fifty times (a JDK; a minute)
	$(call stage,adopt latency)
	go test -run '^$$' -bench 'Adopt$$' -benchtime 50x -timeout 30m ./test/jvm

.PHONY: java-stress
java-stress: java ## the claim of a record in the ring under jcstress (network, once; minutes; MODE=default or tough for longer)
	$(call stage,java stress)
	@java/stress.sh

.PHONY: java-bench
java-bench: java ## what an event costs its thread, against the limits (network, once; minutes)
	$(call stage,java bench)
	@java/bench.sh

.PHONY: jvm
jvm: ## against real JVMs of Java 11, 17, 21 and 25 (needs a JDK, fetches the others once; eight minutes); make test takes two of those at hand
	$(call stage,jvm)
	@# One more for the test that waits for a minute to pass.
	$(gotest) -count=1 -timeout 60m -parallel $$((2 * $$(getconf _NPROCESSORS_ONLN) + 1)) ./test/jvm/...

.PHONY: applog
applog: java ## logs of applications, by real logging libraries, and of one that is killed (network, once)
	$(call stage,logs of applications)
	go test -count=1 ./test/applog ./test/spring

.PHONY: crash
crash: ## kill -9 at any moment, and any settings for TORTURE, 1m: nothing lost, nothing twice (root, for a full disk; three minutes)
	$(call stage,crash)
	ULLAGE_TORTURE=$(TORTURE) go test -count=1 -timeout 3h ./test/crash/...

.PHONY: powercut
powercut: ## what a power cut may leave of the durable copy, for POWERCUT, 10m; make crash takes seconds of it (strace)
	$(call stage,power cuts)
	ULLAGE_POWERCUT=$(POWERCUT) go test -count=1 -v -timeout 0 -run '^TestPowerCutAtAnyMoment$$' ./test/crash/powercut

.PHONY: fault-quick
fault-quick: ## what breaks around a sidecar, briefly (needs root; three minutes)
	$(call stage,faults (the quick ones))
	go test -count=1 -p 1 -timeout 60m ./test/lab ./test/fault

# The tables are printed last, and whether or not everything passes.
.PHONY: fault
fault: ## every fault in full length, and the tables of what it cost (needs root; about 45 minutes)
	$(call stage,faults)
	@mkdir -p bin && rm -f bin/faults.md
	@passed=true; \
	  ULLAGE_FAULT_LONG=1 ULLAGE_FAULT_TABLES=$(CURDIR)/bin/faults.md \
	    go test -count=1 -p 1 -timeout 3h ./test/lab ./test/fault ./test/crash || passed=false; \
	  cat bin/faults.md; $$passed

.PHONY: headline
headline: ## a disk frozen for 60 s under a JVM whose log goes to it, through a pipe, or through ullage (needs root; about 16 minutes)
	$(call stage,headline)
	@mkdir -p bin && rm -f bin/headline.md
	@passed=true; \
	  ULLAGE_FAULT_LONG=1 ULLAGE_FAULT_TABLES=$(CURDIR)/bin/headline.md \
	    go test -count=1 -timeout 1h -run '^TestHeadline$$' ./test/fault || passed=false; \
	  cat bin/headline.md; $$passed

.PHONY: sinks
sinks: setup ## sinks against real servers that fail in every way (builds the servers once, minutes)
	$(call stage,sinks)
	go test -count=1 -v -timeout 90m ./test/sinks | grep -vE '^=== '
	go test -run '^$$' -bench S3Upload -benchtime 5x -timeout 30m ./test/sinks
	go test -run '^$$' -bench S3Compare -benchtime 1x -timeout 30m ./test/sinks
	go test -run '^$$' -bench Down -benchtime 1x -timeout 30m ./test/sinks

.PHONY: demo
demo: build ## a real JVM, its log shipped, the sidecar killed in the middle: is every line there once?
	$(call stage,demo)
	@go run ./test/demo -ullage bin/ullage

.PHONY: demo-hindsight
demo-hindsight: build ## the same log persisted whole, and with --hindsight around an incident: what is stored (needs a JDK)
	$(call stage,demo of hindsight)
	@go run ./test/demo -ullage bin/ullage -hindsight

.PHONY: demo-adopt
demo-adopt: build ## a JVM that runs without a log gets one for 15 s, then a report, and is as it was before (a JDK)
	$(call stage,demo of adopting)
	@go run ./test/demo -ullage bin/ullage -adopt

.PHONY: demo-sinks
demo-sinks: build ## the demo, with an S3 server and a Collector that get copies and are killed (builds both once, minutes)
	$(call stage,demo with sinks)
	@go run ./test/demo -ullage bin/ullage -sinks

.PHONY: bench
bench: build ## what it costs, against the limits it has to keep: the part of evidence without other shippers (half an hour)
	@go run ./test/evidence -command 'make bench' -limits

# What the record becomes: the page of all that was measured, the pictures, the tables in other documents.
RECORD := -record docs/benchmarks/record.json -page docs/benchmarks/measured.md -quote README.md,docs/benchmarks.md,docs/reference.md,docs/report.md,docs/hindsight.md

.PHONY: evidence
evidence: setup-evidence build java ## contestants side by side, into docs/benchmarks, and the tables of README.md and docs (half an hour, and up to as much for each further of ROUNDS, by default five; waits for a quiet machine, up to PATIENCE, 20m; with ONLY=catchup,idle these alone, and the rest stays; as root, with a disk that freezes)
	@go run ./test/evidence -command 'make evidence$(if $(filter-out 5,$(ROUNDS)), ROUNDS=$(ROUNDS))$(if $(ONLY), ONLY=$(ONLY))' -rounds $(ROUNDS) $(if $(ONLY),-keep -only $(ONLY)) -patience $(PATIENCE) $(RECORD)

.PHONY: plots
plots: ## what make evidence recorded last, drawn and quoted again
	@go run ./test/evidence -render $(RECORD) >/dev/null

.PHONY: bench-quick
bench-quick: build java ## the same, smaller and shorter, into bin/benchmarks.md (five minutes)
	@go run ./test/evidence -command 'make bench-quick' -rounds 1 -size 128 -window 4s \
	  -only catchup,steady,idle,storm,kills,frozen,hello,saturated,traced,events,lines,injector,report

.PHONY: soak
soak: build ## what grows in 20 minutes of a busy sidecar, into bin/soak.md
	@go run ./test/evidence -command 'make soak' -only soak -soak 20m -record bin/soak.json -page bin/soak.md

.PHONY: profile
profile: build ## measure the profile for the compiler again (cmd/ullage/default.pgo)
	@go run ./test/evidence -rounds 5 -profile cmd/ullage/default.pgo

.PHONY: chart
chart: ## the Helm chart: linted, rendered, held against the API types; its alerts and dashboard (builds helm where there is none, minutes)
	$(call stage,chart)
	@$(if $(HERE),,test/cluster/build.sh)
	$(gotest) -count=1 ./test/chart/...

.PHONY: package
package: ## what release and push make: complete, the same bytes twice, pulled again from a registry; sinks in the image (needs root; minutes)
	$(call stage,package)
	go test -count=1 -timeout 30m ./test/image
	@# Four architectures from a cold cache take a while.
	go test -C deploy/release -count=1 -timeout 40m ./...

.PHONY: e2e
e2e: build image-tar ## in a real cluster, with helm and kubectl (needs root, to build and start one, or a cluster; see test/cluster)
	$(call stage,end to end)
	@test/cluster/cluster.sh up >/dev/null
	@test/cluster/cluster.sh load bin/ullage.tar bin/ullage-injector.tar $$(test/cluster/images.sh)
	@eval "$$(test/cluster/cluster.sh env)"; mkdir -p bin; rm -f bin/e2e.txt; passed=true; \
	  ULLAGE_E2E=1 ULLAGE_E2E_VERSION=$(subst +,-,$(VERSION)) ULLAGE_E2E_TABLE=$(CURDIR)/bin/e2e.txt \
	    go test -count=1 -parallel 8 -timeout 30m ./test/e2e || passed=false; \
	  cat bin/e2e.txt; $$passed

.PHONY: try
try: build ## ullage in one command: a cluster, the images, the chart, a Java pod, a raise (JAVA_IMAGE=... for another pod)
	$(call stage,try)
	@go run ./test/try -version '$(or $(VERSION),dev)' -java '$(JAVA_IMAGE)' up

.PHONY: try-down
try-down: ## remove what try made
	@go run ./test/try down

.PHONY: try-env
try-env: ## settings for a shell after try: eval "$(make -s try-env)"
	@go run ./test/try env

.PHONY: push
push: ## push the images (amd64, arm64, ppc64le, s390x) and the chart to REGISTRY=registry.example/team as VERSION=0.1.0
	@go run -C deploy/release . push --registry "$$REGISTRY" --version "$$VERSION"

.PHONY: release
release: ## what a release VERSION=0.1.0 consists of, into dist: archives, images, chart, SBOM, provenance, checksums
	@go run -C deploy/release . make --version "$$VERSION" --registry "$$REGISTRY" --builder "$$BUILDER" --out '$(CURDIR)/dist'

.PHONY: sign
sign: ## sign what release wrote into dist and push pushed to REGISTRY as VERSION: by the identity of a workflow, or who logs in (network)
	@go run -C deploy/release . sign --version "$$VERSION" --registry "$$REGISTRY" --out '$(CURDIR)/dist' --cosign 'go run $(COSIGN)'

.PHONY: publish
publish: ## make the release of VERSION on GitHub out of dist (gh, logged in)
	@gh release create "v$${VERSION#v}" dist/* --verify-tag --title "v$${VERSION#v}" --notes-file "dist/ullage_$${VERSION#v}_changes.md" \
	  $$(case $$VERSION in *-*) echo --prerelease ;; esac)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist

.PHONY: image
image: ## the images, by docker, podman or buildah
	$(call stage,images)
	@VERSION="$$VERSION" deploy/image/build.sh docker

.PHONY: image-tar
image-tar: ## the images as archives in bin, without a daemon
	$(call stage,image archives)
	@VERSION="$$VERSION" deploy/image/build.sh tar

.PHONY: node-image
node-image: ## print the node image that kind publishes for the pinned version (as make try finds it)
	@test/cluster/cluster.sh node-image

.PHONY: cluster-up
cluster-up: ## a Kubernetes for the tests: CLUSTER=local, kind or existing
	$(call stage,cluster)
	@test/cluster/cluster.sh up

.PHONY: cluster-down
cluster-down: ## remove it
	$(call stage,cluster)
	@test/cluster/cluster.sh down
