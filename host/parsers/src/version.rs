//! The version of the contract that this host speaks.

/// Version, as messages name it.
pub const CONTRACT: &str = "0.1";
/// The interface that a parser of this version exports.
pub(super) const INTERFACE: &str = "sluice:parser/parser@0.1.0";
/// Version of the host, with the versions of the contract that it speaks.
pub const HOST_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (parser contract 0.1)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_of_the_version_are_of_one_version() {
        assert!(INTERFACE.contains(&format!("@{CONTRACT}.")));
        assert!(HOST_VERSION.ends_with(&format!("(parser contract {CONTRACT})")));
    }
}
