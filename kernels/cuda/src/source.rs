//! Sources of kernels: a kernel file's text behind the text that all kernels share, and the
//! compiler's options.
//!
//! Invariant: text and options decide the binary, so the cache names a binary by their hash.

use std::fmt;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};

/// PTX instructions under names that kernels call. The shim replaces this text by C++.
const PTX: &str = include_str!("../ptx.cuh");
/// Types and functions that all kernels share.
const PRELUDE: &str = include_str!("../prelude.cuh");

/// A file of kernels, identified by its name.
#[derive(Debug)]
pub struct KernelSource {
    /// Name of the file.
    pub name: &'static str,
    /// Text of the file, without the prelude.
    pub text: &'static str,
}

impl PartialEq for KernelSource {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KernelSource {}

impl Hash for KernelSource {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl KernelSource {
    /// Names of the file's kernels, in order.
    pub fn entries(&self) -> Vec<&'static str> {
        kernel_names(self.text)
    }

    /// The prelude and the file's text, with `#line` directives for both.
    pub fn with_prelude(&self) -> String {
        format!("#line 1 \"prelude.cuh\"\n{PRELUDE}\n#line 1 \"{}\"\n{}", self.name, self.text)
    }
}

/// Names of the kernels in a text, in order.
pub fn kernel_names(text: &str) -> Vec<&str> {
    let after = text.split("\nKERNEL").skip(1);
    after.filter_map(|text| text.split_once(" void ")?.1.split_once('(').map(|(name, _)| name)).collect()
}

/// Constants that a file is compiled with, sorted by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Defines {
    pairs: [(&'static str, u32); Self::MOST],
    len: usize,
}

impl Defines {
    /// Greatest number of constants.
    pub const MOST: usize = 8;

    /// # Panics
    /// Where there are more than [`Self::MOST`] constants, or two have one name.
    pub fn new(pairs: &[(&'static str, u32)]) -> Self {
        assert!(pairs.len() <= Self::MOST, "{} defines", pairs.len());
        let mut all = [("", 0); Self::MOST];
        all[..pairs.len()].copy_from_slice(pairs);
        all[..pairs.len()].sort_unstable();
        let defines = Self { pairs: all, len: pairs.len() };
        assert!(defines.iter().is_sorted_by(|a, b| a.0 < b.0), "a define twice: {defines}");
        defines
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.pairs[..self.len].iter().copied()
    }
}

impl fmt::Display for Defines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if i > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Defines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A file with its constants: the unit of compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// File of the kernels.
    pub source: &'static KernelSource,
    /// Constants of this variant.
    pub defines: Defines,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.defines.len > 0 { " " } else { "" };
        write!(f, "{}{space}{}", self.source.name, self.defines)
    }
}

impl Variant {
    /// The text that NVRTC compiles.
    pub fn text(&self) -> String {
        format!("#line 1 \"ptx.cuh\"\n{PTX}\n{}", self.source.with_prelude())
    }

    /// The options of NVRTC.
    pub fn options(&self, arch: Arch) -> Vec<String> {
        let mut options =
            vec![format!("--gpu-architecture={arch}"), "--std=c++17".into(), "-default-device".into()];
        options.extend(self.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        options
    }

    /// SHA-256 of options and text, in hexadecimal digits.
    pub fn hash(&self, arch: Arch) -> String {
        let mut hash = Sha256::new();
        for part in self.options(arch).iter().chain([&self.text()]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// Architecture that a binary is compiled for: a compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arch {
    /// Major number: 9 of 9.0.
    pub major: u32,
    /// Minor number: 0 of 9.0.
    pub minor: u32,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // From 9.0 on, "a" allows instructions that only this very architecture has; a binary is
        // for one device anyway.
        write!(f, "sm_{}{}{}", self.major, self.minor, if self.major >= 9 { "a" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defines_are_sorted_and_named_once() {
        let defines = Defines::new(&[("WIDTH", 8), ("HEAD_DIM", 128)]);
        assert_eq!(defines.to_string(), "HEAD_DIM=128 WIDTH=8");
        assert_eq!(defines, Defines::new(&[("HEAD_DIM", 128), ("WIDTH", 8)]));
        assert!(std::panic::catch_unwind(|| Defines::new(&[("A", 1), ("A", 2)])).is_err());
    }

    #[test]
    fn binary_is_named_by_text_options_and_architecture() {
        let variants = crate::variants();
        let hopper = Arch { major: 9, minor: 0 };
        let hashes: std::collections::BTreeSet<_> = variants.iter().map(|v| v.hash(hopper)).collect();
        assert_eq!(hashes.len(), variants.len());
        let ampere = Arch { major: 8, minor: 0 };
        assert_eq!((hopper.to_string().as_str(), ampere.to_string().as_str()), ("sm_90a", "sm_80"));
        assert!(!hashes.contains(&variants[0].hash(ampere)));
    }

    #[test]
    fn every_source_has_entries_and_no_include() {
        for variant in crate::variants() {
            assert!(!variant.source.entries().is_empty(), "{variant}");
            assert!(!variant.text().contains("#include"), "{variant}");
        }
    }
}
