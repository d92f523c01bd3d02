//! A whole test run: every property over every case, on all cores. The order of results doesn't
//! depend on the threads.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::coverage;
use super::grammars;
use super::growth;
use super::properties;
use super::recording::Recording;
use super::report::{Report, Tally};
use super::stretch::{Stretch, StretchKind};
use super::subject::ParserSource;

/// Number of cases of each kind that are stretched to 64k deltas.
const GROWN: usize = 2;

/// Checks every property over these case files. The same seed makes the same chunkings.
///
/// # Errors
/// A case or the parser can't be used, or there is no case. The message has one line.
pub fn test(files: &[PathBuf], source: &dyn ParserSource, seed: u64) -> Result<Report, String> {
    let load = |file: &PathBuf| Recording::load(file, source);
    test_recordings(&files.iter().map(load).collect::<Result<Vec<_>, _>>()?, source, seed)
}

/// Checks every property over these cases, which are of this source.
///
/// # Errors
/// Those of [`test()`].
pub fn test_recordings(
    recordings: &[Recording],
    source: &dyn ParserSource,
    seed: u64,
) -> Result<Report, String> {
    let Some(first) = recordings.first() else { return Err("no cases: nothing can be shown".to_owned()) };
    let checked = in_parallel(recordings, |recording| {
        let mut tally = Tally::default();
        let stretches = properties::check(recording, seed, &mut tally);
        (tally, stretches)
    });
    let (tallies, stretches): (Vec<Tally>, Vec<Vec<Stretch>>) = checked.into_iter().unzip();
    let chosen = longest(recordings, &stretches, GROWN);
    let grown = in_parallel(&chosen, |(recording, stretch)| {
        let mut tally = Tally::default();
        growth::check(recording, stretch, &mut tally);
        tally
    });
    let walked = in_parallel(&by_subject(recordings), |recordings| {
        let mut tally = Tally::default();
        grammars::check(recordings, source, seed, &mut tally);
        tally
    });
    let mut sum = Tally::default();
    tallies.into_iter().chain(grown).chain(walked).for_each(|tally| sum.merge(tally));
    let descriptor = first.subject.descriptor();
    let findings = sum.findings(first.subject.limits());
    Ok(Report {
        parser: descriptor.name.clone(),
        version: descriptor.version.clone(),
        sha256: first.subject.digest().to_owned(),
        cases: recordings.len(),
        seed,
        uncovered: coverage::uncovered(recordings),
        passed: findings.iter().all(|finding| finding.passed),
        findings,
    })
}

/// The recordings of each parser: the options of a case may change its markers and its template.
fn by_subject(recordings: &[Recording]) -> Vec<Vec<&Recording>> {
    let mut groups: Vec<Vec<&Recording>> = Vec::new();
    for recording in recordings {
        let is_same = |group: &&mut Vec<&Recording>| group[0].request.options == recording.request.options;
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(recording),
            None => groups.push(vec![recording]),
        }
    }
    groups
}

/// Returns the first `of_each` stretches of each kind, at most one of a kind from each case.
pub(super) fn longest<'a>(
    recordings: &'a [Recording],
    stretches: &'a [Vec<Stretch>],
    of_each: usize,
) -> Vec<(&'a Recording, &'a Stretch)> {
    let mut taken: HashMap<StretchKind, usize> = HashMap::new();
    let all = recordings.iter().zip(stretches).flat_map(|(recording, stretches)| {
        let first =
            |(at, of): &(usize, &Stretch)| stretches[..*at].iter().all(|before| before.kind != of.kind);
        stretches.iter().enumerate().filter(first).map(move |(_, stretch)| (recording, stretch))
    });
    all.filter(|(_, stretch)| {
        let taken = taken.entry(stretch.kind).or_default();
        *taken += 1;
        *taken <= of_each
    })
    .collect()
}

/// Calls `act` for each element on all cores, and returns the results in the order of the elements.
fn in_parallel<T: Sync, R: Send>(all: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<R>>> = all.iter().map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(all.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(index) else { return };
                    *done[index].lock().expect("each place is written once") = Some(act(one));
                }
            });
        }
    });
    let result =
        |place: Mutex<Option<R>>| place.into_inner().ok().flatten().expect("every place was written");
    done.into_iter().map(result).collect()
}
