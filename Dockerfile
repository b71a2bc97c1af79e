# The images of ullage and of its injector: docker build --target ullage .
# The same content as `make image-tar` makes without a daemon.
ARG GO_IMAGE=golang:1.26@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647

# Go compiles for other platforms itself, so it runs on the builder's own.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG REVISION
ARG SOURCE_DATE_EPOCH
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
# What git would tell: a build context has no .git.
ENV STAMPS="-X main.version=$VERSION -X github.com/ullage/ullage/internal/base/build.revision=$REVISION -X github.com/ullage/ullage/internal/base/build.committed=$SOURCE_DATE_EPOCH"

FROM source AS build-ullage
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -buildvcs=false -ldflags "-s -w $STAMPS" -o /out/ ./cmd/ullage
# 'ullage adopt' in an ephemeral container runs as any user, and has no volume.
RUN mkdir -p /root-of-image && mkdir -m 1777 /root-of-image/tmp

FROM source AS build-ullage-injector
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -buildvcs=false -ldflags "-s -w $STAMPS" -o /out/ ./cmd/ullage-injector

# A user in digits, as Kubernetes can tell only of those that they are not root.
# Nothing is written to the root file system. A builder that knows
# SOURCE_DATE_EPOCH takes it as the time of the image.
FROM scratch AS ullage-injector
ARG VERSION=dev
ARG REVISION
ARG SOURCE_DATE_EPOCH
COPY --from=build-ullage-injector /out/ullage-injector /usr/local/bin/ullage-injector
COPY LICENSE /LICENSE
LABEL org.opencontainers.image.title="ullage-injector" \
      org.opencontainers.image.description="Admission webhook that adds ullage to pods" \
      org.opencontainers.image.source="https://github.com/ullage/ullage" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/ullage-injector"]

# The last one is what a build without --target makes.
FROM scratch AS ullage
ARG VERSION=dev
ARG REVISION
ARG SOURCE_DATE_EPOCH
COPY --from=build-ullage /out/ullage /usr/local/bin/ullage
COPY LICENSE /LICENSE
COPY --from=build-ullage /root-of-image/ /
LABEL org.opencontainers.image.title="ullage" \
      org.opencontainers.image.description="Sidecar that writes a JVM's log to the disk, so that the JVM never waits for it" \
      org.opencontainers.image.source="https://github.com/ullage/ullage" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/ullage"]
