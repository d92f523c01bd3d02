//! Cost growth: a delta costs as much in a long stream as in a short one. Costs are counted in the
//! sandbox's fuel, which is the same on every machine.

use super::compare::{difference, shortened};
use super::recording::Recording;
use super::report::{Grown, Property, Tally};
use super::silence::play_recorded;
use super::stretch::Stretch;
use super::thresholds::{DELTA_CHARACTERS, GROWTH, SIZES};

/// Measures the fuel per delta while a stretched case grows to the longest of [`SIZES`].
pub(super) fn check(recording: &Recording, stretch: &Stretch, tally: &mut Tally) {
    let (tape, region, times) = stretch.long(SIZES[SIZES.len() - 1]);
    let (mut deltas, mut begun, mut spent) = (0, None, Vec::new());
    let (_, outcome) =
        play_recorded(recording, &tape, &tape.every(DELTA_CHARACTERS), tally, |atoms, _, usage| {
            let Some(usage) = usage else { return };
            if atoms.start < region.start || atoms.end > region.end {
                // After the last delta before the region, this is the fuel at the region's start.
                begun = if deltas == 0 { Some(usage.fuel) } else { begun };
                return;
            }
            deltas += 1;
            if SIZES.contains(&deltas) {
                spent.push(usage.fuel - begun.unwrap_or(0));
            }
        });
    tally.count(Property::Growth);
    if let Some(what) = difference(&outcome, &stretch.expected(times)) {
        let what = format!("with {} 64k deltas long\n  {}", stretch.name(), shortened(&what));
        return tally.fail(Property::Growth, &recording.name, what, None);
    }
    if spent.len() < SIZES.len() {
        return;
    }
    let grown = Grown { case: recording.name.clone(), what: stretch.name(), fuel: per_delta(&spent) };
    if grown.ratio() > GROWTH {
        let what = format!(
            "fuel per delta inside {} grows {:.2}-fold: {:?}",
            stretch.name(),
            grown.ratio(),
            grown.fuel
        );
        tally.fail(Property::Growth, &recording.name, what, None);
    }
    tally.grown.push(grown);
}

#[expect(clippy::cast_precision_loss, reason = "fuel and sizes are far below 2^53")]
fn per_delta(spent: &[u64]) -> Vec<f64> {
    let tenths = |(fuel, size): (&u64, &usize)| (*fuel as f64 / *size as f64 * 10.0).round() / 10.0;
    spent.iter().zip(&SIZES).map(tenths).collect()
}
