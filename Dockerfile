# The commands from this checkout: docker build -t pageway . && docker run --rm -v "$PWD:/work" pageway build --help
#
# io_uring is off in the default profile of most container runtimes: reads then go through threads, and
# `pageway doctor` says so. docs/operations.md says how to allow it.
FROM rust:1-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p pageway-cli -p pageway-lab -p pageway-server \
    && strip target/release/pageway target/release/pageway-lab target/release/pageway-server

FROM debian:bookworm-slim
COPY --from=build /src/target/release/pageway /src/target/release/pageway-lab /src/target/release/pageway-server /usr/local/bin/
COPY --from=build /src/data/demo /usr/local/share/pageway/data/demo
COPY --from=build /src/LICENSE-MIT /src/LICENSE-APACHE /usr/local/share/pageway/
RUN useradd --create-home pageway
USER pageway
WORKDIR /work
ENTRYPOINT ["pageway"]
