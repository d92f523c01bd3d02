//! Count of records that lack something, for metrics: whoever relies on records sees that they are
//! none to rely on.

use crate::observe::metrics::INCOMPLETE_RECORDS;

/// Why a record is cut off, missing, or lacks lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomplete {
    /// Its file can't be made or written.
    Disk,
    /// It would be larger than a record may be.
    Size,
    /// The queue had no room for lines.
    Queue,
}

impl Incomplete {
    const ALL: [Self; 3] = [Self::Disk, Self::Size, Self::Queue];

    fn reason(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Size => "size",
            Self::Queue => "queue",
        }
    }

    /// Counts a record.
    pub(super) fn count(self) {
        metrics::counter!(INCOMPLETE_RECORDS.name(), "reason" => self.reason()).increment(1);
    }
}

/// Makes the metric with the value 0.
pub fn register_metric() {
    for reason in Incomplete::ALL {
        metrics::counter!(INCOMPLETE_RECORDS.name(), "reason" => reason.reason()).increment(0);
    }
}
