//! The name by which the binary was called: packages install it as `sluice`, since another program
//! is `/usr/bin/host` there.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

/// The name of the machine, for messages.
pub fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name for commands in messages: `sluice` if the binary was called so, else `host`.
pub fn name() -> &'static str {
    static NAME: LazyLock<&str> = LazyLock::new(|| named(std::env::args_os().next().as_deref()));
    *NAME
}

fn named(called: Option<&OsStr>) -> &'static str {
    if called.and_then(|path| Path::new(path).file_name()).is_some_and(|name| name == "sluice") {
        "sluice"
    } else {
        "host"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_names_are_said() {
        for (called, name) in [
            ("/usr/bin/sluice", "sluice"),
            ("sluice", "sluice"),
            ("target/release/host", "host"),
            ("sluice-1", "host"),
        ] {
            assert_eq!(named(Some(OsStr::new(called))), name, "{called}");
        }
        assert_eq!(named(None), "host");
    }
}
