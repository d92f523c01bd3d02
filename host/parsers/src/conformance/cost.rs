//! Cost of a delta in a parser, in CPU time of the thread: figures for people, where `growth`
//! counts fuel for tests.

use std::path::PathBuf;

use super::play::Session;
use super::recording::Recording;
use super::stretch::Stretch;
use super::subject::ParserSource;
use super::suite::longest;
use super::thresholds::{DELTA_CHARACTERS, SIZES};
use system::cpu_clock::thread_cpu_time;
use turn::TurnEvents;

/// Number of runs, whose median each figure is.
const RUNS: usize = 5;

/// Cost of a delta of about four characters in a case that was stretched.
#[derive(Debug, Clone)]
pub struct Cost {
    /// Name of the case.
    pub case: String,
    /// Part of the case that is repeated, in words.
    pub what: &'static str,
    /// Nanoseconds per delta, for each length of the stream: 256, 1k, 4k, 16k, 64k deltas.
    pub nanoseconds: Vec<f64>,
}

/// Measures one case of each kind that can be stretched. The time to make the parser's instance
/// isn't counted.
///
/// # Errors
/// A case or the parser can't be used, or no case can be stretched. The message has one line.
pub fn cost(files: &[PathBuf], source: &dyn ParserSource) -> Result<Vec<Cost>, String> {
    let load = |file: &PathBuf| Recording::load(file, source);
    let recordings: Vec<Recording> = files.iter().map(load).collect::<Result<_, _>>()?;
    let stretches: Vec<Vec<Stretch>> = recordings.iter().map(super::stretch::of).collect();
    let chosen = longest(&recordings, &stretches, 1);
    if chosen.is_empty() {
        return Err("none of the cases can be made long: add one whose text has eight characters".to_owned());
    }
    Ok(chosen.iter().map(|(recording, stretch)| measured(recording, stretch)).collect())
}

fn measured(recording: &Recording, stretch: &Stretch) -> Cost {
    let nanoseconds = SIZES.iter().map(|size| per_delta(recording, stretch, *size)).collect();
    Cost { case: recording.name.clone(), what: stretch.name(), nanoseconds }
}

fn per_delta(recording: &Recording, stretch: &Stretch, deltas: usize) -> f64 {
    let (tape, ..) = stretch.long(deltas);
    let steps: Vec<_> =
        tape.groups(&tape.every(DELTA_CHARACTERS)).into_iter().map(|group| tape.pieces(group)).collect();
    let Recording { subject, request, prompt, .. } = recording;
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let mut events = TurnEvents::default();
            let mut session = Session::start(subject, request, prompt, &tape, None, &mut events);
            let before = thread_cpu_time();
            for step in &steps {
                session.step(step, &mut events);
                events.clear();
            }
            thread_cpu_time().saturating_sub(before).as_secs_f64() * 1e9
                / f64::from(u32::try_from(steps.len()).unwrap_or(u32::MAX))
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}
