//! No code: this package's manifest switches on, in the libraries that the server's packages share,
//! what any of these packages or their tests needs.
//!
//! Cargo builds a library once for each set of features. Without this, each of
//! `cargo test -p model`, `cargo test -p api` and `cargo run` would build its own hashbrown, and
//! above it its own wasmtime. `cargo tree -p PACKAGE -e normal,build,dev -f "{p}|{f}"` shows what is missing
//! here: a line that `--workspace` in its place lacks.
