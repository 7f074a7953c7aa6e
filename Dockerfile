# heed in a container: one static binary, the CA roots, a user of its own.
#
#   docker build -t heed --build-arg VERSION="$(git describe --tags --always)" .
#   docker run -p 127.0.0.1:3128:3128 -v heed-state:/var/lib/heed heed
#
# The proxy listens on every address of the container, so it says who may use
# it: clients from private ranges, which is where a container's neighbours and
# its host are. Narrow HEED_ALLOW_CLIENT to what you run.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X heed/internal/cli.version=${VERSION}" -o /out/heed . \
 && mkdir -p /out/state

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/heed /heed
# a new volume takes its owner and mode from here; the CA's key is in it
COPY --from=build --chown=65532:65532 --chmod=0700 /out/state /var/lib/heed
USER 65532:65532
ENV HEED_LISTEN=0.0.0.0:3128 \
    HEED_ADMIN_LISTEN=127.0.0.1:3129 \
    HEED_STATE_DIR=/var/lib/heed \
    HEED_ALLOW_CLIENT=10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7
VOLUME /var/lib/heed
EXPOSE 3128
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s --retries=3 CMD ["/heed", "health"]
ENTRYPOINT ["/heed"]
CMD ["serve"]
