//! The versions of the contract that this host speaks: those released, and drafts of the next,
//! which are loaded only where they are allowed.

use std::fmt;

/// Name of an exported parser interface, without its version.
pub(super) const PARSER: &str = "sluice:parser/parser";
/// The released versions, as messages name them.
pub(super) const CONTRACT: &str = "0.1";
/// Version of the host, with the versions of the contract that it speaks.
pub const HOST_VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (parser contract 0.1; with --draft-contracts a draft of 0.2 too)");

/// Version of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractVersion {
    /// 0.1, of any patch.
    V0_1,
    /// The draft of 0.2.
    Draft0_2,
}

impl ContractVersion {
    /// All versions, the newest first.
    pub const ALL: [Self; 2] = [Self::Draft0_2, Self::V0_1];

    /// Its name in messages and in the name of its folder: `0.1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_1 => CONTRACT,
            Self::Draft0_2 => "0.2-draft",
        }
    }

    /// Version of its WIT package: `0.1.0`.
    pub fn package(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1.0",
            Self::Draft0_2 => "0.2.0-draft",
        }
    }

    /// Whether it isn't released: it may change, or go, with any build of the host.
    pub fn is_draft(self) -> bool {
        self == Self::Draft0_2
    }

    /// Whether a call may have the model's own id.
    pub fn has_call_ids(self) -> bool {
        self == Self::Draft0_2
    }

    /// Whether a component with an export of this name has a parser of this version. Patch versions
    /// fit each other; a draft fits only itself.
    pub(super) fn fits(self, export: &str) -> bool {
        let version = export.strip_prefix(PARSER).and_then(|rest| rest.strip_prefix('@'));
        let patch = |version: &str| {
            let patch = version.strip_prefix(self.name()).and_then(|rest| rest.strip_prefix('.'));
            patch.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
        };
        version
            .is_some_and(|version| if self.is_draft() { version == self.package() } else { patch(version) })
    }
}

impl fmt::Display for ContractVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_version_names_every_contract_version() {
        for version in ContractVersion::ALL {
            let named = version.name().replace("0.2-draft", "with --draft-contracts a draft of 0.2 too");
            assert!(HOST_VERSION.contains(&named), "{HOST_VERSION}");
            assert!(version.package().starts_with(version.name().trim_end_matches("-draft")));
        }
    }
}
