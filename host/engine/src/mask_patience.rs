//! Limit on the time that a step waits for masks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::notify::Notify;
use crate::scheduler::Scheduler;

/// Longest wait while the device is idle. Usual masks take 10 to 100 µs and are ready by then. A
/// sequence with a slower mask is better left out of the step, which costs it one more row.
const IDLE: Duration = Duration::from_millis(2);
/// Number of past steps from which the time of the next one is estimated.
const STEPS: usize = 4;

/// The wait for masks. A device that still computes the step loses no time by it, so the wait may
/// then take half the time of recent steps.
pub(crate) struct MaskPatience {
    notify: Option<Arc<Notify>>,
    /// Whether the device computes during the wait, and for this engine only.
    is_covered: bool,
    /// When the device began the oldest step that isn't collected.
    began: Instant,
    /// Times of the last steps, the latest first.
    took: [Duration; STEPS],
}

impl MaskPatience {
    /// Waits that end early when `notify` is notified. They clear other notifications, too, so the
    /// caller looks at everything behind the step. `is_covered` says that the device computes the
    /// step during the wait, and nothing for other engines.
    pub(crate) fn until_notified(notify: Arc<Notify>, is_covered: bool) -> Self {
        Self { notify: Some(notify), is_covered, ..Self::none() }
    }

    /// No wait at all.
    pub(crate) fn none() -> Self {
        Self { notify: None, is_covered: false, began: Instant::now(), took: [Duration::ZERO; STEPS] }
    }

    /// A step begins on a device that has nothing else to do.
    pub(crate) fn step_began(&mut self) {
        self.began = Instant::now();
    }

    /// The oldest step under way is collected; the next one begins, if there is one.
    pub(crate) fn step_ended(&mut self) {
        let now = Instant::now();
        self.took.rotate_right(1);
        self.took[0] = now.saturating_duration_since(self.began);
        self.began = now;
    }

    /// Waits for the masks of the step that was scheduled last.
    pub(crate) fn wait(&self, scheduler: &mut Scheduler) {
        let (began, most) = (Instant::now(), longest(&self.took, self.is_covered));
        loop {
            if let Some(notify) = &self.notify {
                notify.clear();
            }
            let left = most.saturating_sub(began.elapsed());
            match &self.notify {
                _ if scheduler.masks_are_ready() => return,
                Some(notify) if !left.is_zero() => notify.wait(Some(left)),
                _ => return,
            }
        }
    }
}

/// Longest wait. The shortest of the last steps counts, since a step with a prompt takes long and
/// the next one may not.
fn longest(took: &[Duration; STEPS], is_covered: bool) -> Duration {
    let shortest = took.iter().min().copied().unwrap_or_default();
    if is_covered { IDLE.max(shortest / 2) } else { IDLE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_masks_are_waited_for_half_the_devices_step() {
        let took = |ms: [u64; STEPS]| ms.map(Duration::from_millis);
        assert_eq!(longest(&took([40, 10, 12, 11]), true), Duration::from_millis(5));
        assert_eq!(longest(&took([10, 0, 0, 0]), true), IDLE, "too few steps tell nothing");
        assert_eq!(longest(&took([10; STEPS]), false), IDLE, "nothing computes meanwhile");
    }
}
