//! The version of the contract that this host speaks.

/// Version, as messages name it.
pub(super) const CONTRACT: &str = "0.1";
/// The interface that a parser of this version exports.
pub(super) const INTERFACE: &str = "sluice:parser/parser@0.1.0";
