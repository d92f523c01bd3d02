//! Cost of a delta: CPU time of this thread in a stream that is started and warm, within a budget
//! for each figure.

use std::time::Duration;

use readers::{Delta, Stream};

use crate::formats::{Format, Shape};
use crate::measure::thread_cpu;
use crate::stream::{Count, Cut, Start};

/// Numbers of deltas of a stream.
pub(crate) const LENGTHS: [usize; 5] = [256, 1024, 4096, 16_384, 65_536];
/// Maximum CPU time for one figure.
pub(crate) const BUDGET: Duration = Duration::from_secs(2);
/// Number of deltas measured for each figure, and the minimum number of streams.
const DELTAS: usize = 32_768;
const STREAMS: usize = 3;
/// Number of deltas between two readings of the clock.
const BLOCK: usize = 512;

/// Nanoseconds per delta.
#[derive(Clone, Copy)]
pub(crate) enum Cost {
    /// Median of whole streams.
    Whole(f64),
    /// Cost of the part of the first stream that the budget allowed.
    Cut(f64),
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_delta(time: Duration, deltas: usize) -> f64 {
    time.as_nanos() as f64 / deltas.max(1) as f64
}

/// Measures one figure.
pub(crate) fn cost(format: &Format, start: &Start, shape: Shape, length: usize) -> Cost {
    let warm_up = crate::tokens(format, &format.warm_up());
    let deltas = crate::tokens(format, &format.deltas(shape, length));
    let (mut times, mut spent) = (Vec::new(), Duration::ZERO);
    // The first stream warms the caches; it counts only if the budget allows no other.
    for run in 0..=(DELTAS / length).max(STREAMS) {
        let mut stream = start(Cut::Tokens).expect("every parser reads its own tokens");
        let mut sink = Count::default();
        for delta in &warm_up {
            stream.feed(delta, &mut sink);
        }
        let (time, fed) = feed(&mut *stream, &deltas, BUDGET.saturating_sub(spent), &mut sink);
        std::hint::black_box(sink.0);
        spent += time;
        if fed == deltas.len() && (run > 0 || spent * 2 > BUDGET) {
            times.push(time);
        } else if fed < deltas.len() && times.is_empty() {
            return Cost::Cut(per_delta(time, fed));
        }
        if spent >= BUDGET {
            break;
        }
    }
    times.sort_unstable();
    Cost::Whole(per_delta(times[times.len() / 2], deltas.len()))
}

/// Feeds deltas until the budget is spent; returns the time and the number of deltas.
fn feed(
    stream: &mut dyn Stream,
    deltas: &[Delta<'_>],
    budget: Duration,
    sink: &mut Count,
) -> (Duration, usize) {
    let (began, mut fed) = (thread_cpu(), 0);
    for block in deltas.chunks(BLOCK) {
        for delta in block {
            stream.feed(delta, sink);
        }
        fed += block.len();
        let time = thread_cpu().saturating_sub(began);
        if time >= budget {
            return (time, fed);
        }
    }
    (thread_cpu().saturating_sub(began), fed)
}
