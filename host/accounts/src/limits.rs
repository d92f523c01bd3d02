//! Bounds of what requests may use before an answer begins, with their default values, and the rows of
//! those that the operator can change.

bounds::limits! {
    /// Bounds of what requests may use before an answer begins.
    AccountLimits, "Limits":

    memory: usize = 256 << 20, "request-memory", Mib, 16..=1_048_576, "Memory for reading requests, all together, at three times the size of their bodies; further requests get 503";
    cpu: u32 = 50, "request-cpu", Count("PERCENT"), 1..=100, "Share of all cores that reading one key's requests and preparing their prompts may use; further requests get 429 for a while";
}
