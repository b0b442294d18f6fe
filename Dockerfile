# The commands from this checkout: docker build -t pageway . && docker run --rm -v "$PWD:/work" pageway build --help
#
# The server: docker run -p 127.0.0.1:6333:6333 -v data:/data --entrypoint pageway-server pageway --data-dir /data ..
# or packaging/compose.yaml.
#
# io_uring is off in the default profile of most container runtimes: reads then go through threads, and
# `pageway doctor` says so. docs/operations.md says how to allow it.
FROM rust:1-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p pageway-cli -p pageway-lab -p pageway-server -p pageway-import \
    && cd target/release && strip pageway pageway-lab pageway-server pageway-import-qdrant

FROM debian:bookworm-slim
COPY --from=build /src/target/release/pageway /src/target/release/pageway-lab /src/target/release/pageway-server \
    /src/target/release/pageway-import-qdrant /usr/local/bin/
COPY --from=build /src/data/demo /usr/local/share/pageway/data/demo
COPY --from=build /src/LICENSE-MIT /src/LICENSE-APACHE /usr/local/share/pageway/
RUN useradd --create-home pageway && install -d -o pageway -g pageway /data
USER pageway
WORKDIR /work
ENTRYPOINT ["pageway"]
