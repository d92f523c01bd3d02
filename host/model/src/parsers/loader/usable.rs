//! Candidate of `--parser auto`.

use std::path::Path;

use contract::Descriptor;
use parsers::PluginSource;

/// A plugin that can be chosen. It may not be loaded yet.
pub(super) struct Usable {
    pub(super) source: PluginSource,
    pub(super) name: String,
    pub(super) digest: Option<String>,
    pub(super) descriptor: Descriptor,
}

impl Usable {
    /// Rank among files of one parser; the highest one is taken.
    pub(super) fn rank(&self) -> (bool, Vec<u64>) {
        let version = self.descriptor.version.split(['.', '-', '+']);
        (self.file_name_matches(), version.map_while(|part| part.parse().ok()).collect())
    }

    /// Whether the file's name without extension is the name in the descriptor.
    fn file_name_matches(&self) -> bool {
        Path::new(&self.name).file_stem().is_some_and(|stem| stem == self.descriptor.name.as_str())
    }
}
