//! Bound on an engine's load, relative to the mean load: an engine below it may take a request.

use super::RoutingOptions;

/// This router counts as alone if the engines' requests of other hosts are at most its own divided
/// by this number.
const ALONE: u64 = 8;

/// Sums over the loads of some engines.
#[derive(Default)]
pub(super) struct Loads {
    pub(super) count: u64,
    /// Requests of this router.
    own: u64,
    /// Requests of other hosts, as reported.
    others: u64,
    without_report: u64,
}

/// Bound of a selection: an engine takes the request only if its load is below the bound for its
/// slots.
pub(super) struct Bound {
    /// Bound for every engine, whatever its slots.
    least: u32,
    /// Highest bound that slots may give an engine.
    slots_at_most: u32,
    /// Whether no other host routes to these engines, as far as they report.
    pub(super) is_alone: bool,
}

impl Loads {
    pub(super) fn add(&mut self, own: u32, others: Option<u32>) {
        self.count += 1;
        self.own += u64::from(own);
        self.others += u64::from(others.unwrap_or(0));
        self.without_report += u64::from(others.is_none());
    }

    /// Bound for a key. `is_remembered` says whether the key's last engine is known. A new key is
    /// placed more evenly than by rendezvous order if no other host has to find its engine.
    pub(super) fn bound(&self, is_remembered: bool, options: &RoutingOptions) -> Bound {
        let is_alone = self.without_report == 0 && self.others * ALONE <= self.own;
        if is_alone && !is_remembered {
            return Bound { least: self.of_mean(options.new_key_percent), slots_at_most: 0, is_alone };
        }
        let slots_at_most = self.of_mean(options.slots_percent).max(options.slots);
        Bound { least: self.of_mean(options.load_percent), slots_at_most, is_alone }
    }

    /// `percent` of the mean load, rounded up.
    fn of_mean(&self, percent: u32) -> u32 {
        let load = ((self.own + self.others) * u64::from(percent)).div_ceil(100 * u64::max(self.count, 1));
        u32::try_from(load).unwrap_or(u32::MAX)
    }
}

impl Bound {
    /// Bound for an engine that has `slots`.
    pub(super) fn of(&self, slots: u32) -> u32 {
        self.least.max(slots.min(self.slots_at_most))
    }
}
