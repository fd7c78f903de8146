# The service in an image of its own: one static program and nothing else. nginx has its own image, see
# docker-compose.yml. The two images of the builders are replaced with --build-arg.
ARG DEBIAN_IMAGE=debian:bookworm-slim
ARG NODE_IMAGE=node:24-slim

# npm fetches SQLite, by version and checksum; here it weighs nothing in what follows.
FROM ${NODE_IMAGE} AS sqlite
COPY tools/sqlite.sh /
RUN /sqlite.sh /sqlite

FROM ${DEBIAN_IMAGE} AS build
WORKDIR /larder
RUN apt-get -qq update && apt-get -qq install --no-install-recommends --yes make >/dev/null
COPY Makefile ./
COPY tools tools
RUN make packages-static
COPY . .
COPY --from=sqlite /sqlite build/sqlite
RUN make static && mkdir data

FROM scratch
COPY --from=build /larder/build/static/larder /larder
# A new volume takes over the owner of the directory it covers.
COPY --from=build --chown=65532:65532 /larder/data /data
USER 65532:65532
# larder.db is here, and SQLite's temporary files, since there is no /tmp.
WORKDIR /data
ENTRYPOINT ["/larder"]
CMD ["serve"]
