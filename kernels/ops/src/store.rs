//! Where results go.

/// Where an operation's results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMode {
    /// Results replace the output.
    Overwrite,
    /// Results are added to the output (a residual connection).
    Accumulate,
}
