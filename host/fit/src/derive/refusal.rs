//! Why no parser was derived.

/// Why a template's format can't be derived, and the probe that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Underivable {
    /// The probe.
    pub probe: String,
    /// The reason, in one line.
    pub reason: String,
}

impl Underivable {
    pub(super) fn new(probe: &str, reason: impl Into<String>) -> Self {
        Self { probe: probe.to_owned(), reason: reason.into() }
    }
}

impl std::fmt::Display for Underivable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} (probe {})", self.reason, self.probe)
    }
}
