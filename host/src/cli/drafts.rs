//! The switch that allows components of drafts of the contract: one for all commands that load
//! parsers.

/// The switch.
#[derive(clap::Args)]
pub(super) struct DraftArgument {
    /// Load parsers that were built for a draft of the next contract, too. A draft changes without
    /// notice, so this is for authors who try one.
    #[arg(long)]
    draft_contracts: bool,
}

impl DraftArgument {
    /// Whether drafts are allowed.
    pub(super) fn allowed(&self) -> bool {
        self.draft_contracts
    }
}
