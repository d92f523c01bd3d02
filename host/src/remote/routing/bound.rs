//! How much load an engine may have to take a request: a bound around the mean.

use super::RoutingOptions;

/// A host routes alone if the engines' other requests are at most a share of its own: one in this many.
const ALONE: u64 = 8;

/// Loads of some engines, added up.
#[derive(Default)]
pub(super) struct Loads {
    pub(super) count: u64,
    /// Requests of this router.
    own: u64,
    /// Requests of others, as reported.
    others: u64,
    without_report: u64,
}

/// Load that an engine must be below to take a request.
pub(super) struct Bound {
    /// For any engine.
    least: u32,
    /// What slots may add.
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

    /// Bound for a key, whose last engine is remembered or not. If no other host has to find a new key's engine, it is placed
    /// more evenly than rendezvous order does.
    pub(super) fn bound(&self, is_remembered: bool, options: &RoutingOptions) -> Bound {
        let is_alone = self.without_report == 0 && self.others * ALONE <= self.own;
        if is_alone && !is_remembered {
            return Bound { least: self.of_mean(options.new_key_percent), slots_at_most: 0, is_alone };
        }
        let slots_at_most = self.of_mean(options.slots_percent).max(options.slots);
        Bound { least: self.of_mean(options.load_percent), slots_at_most, is_alone }
    }

    /// A share of the mean load, rounded up.
    fn of_mean(&self, percent: u32) -> u32 {
        let load = ((self.own + self.others) * u64::from(percent)).div_ceil(100 * u64::max(self.count, 1));
        u32::try_from(load).unwrap_or(u32::MAX)
    }
}

impl Bound {
    /// Bound for an engine with as many slots.
    pub(super) fn of(&self, slots: u32) -> u32 {
        self.least.max(slots.min(self.slots_at_most))
    }
}
