//! A hundred healthy streams in one process, beside streams of one hostile guest after the other:
//! every healthy stream gives exactly the items that it gives alone.

use parsers::ParserLimits;
use parsers::{Plugin, Runtime};
use tests::guests::NAMES;
use tests::streams::{SHIPPED, Stream, deltas, load, load_guest};
use tests::transcripts::QWEN3;
use turn::{FoldedItem, TurnEnd};

const NEIGHBOURS: usize = 100;
const THREADS: usize = 2;
/// Number of rounds between two hostile streams.
const EVERY: usize = 8;

/// Result of a transcript when no other stream runs.
fn alone(plugin: &Plugin, output: &str) -> (Vec<FoldedItem>, TurnEnd, bool) {
    let mut stream = Stream::start(plugin).expect("it starts");
    for delta in deltas(output) {
        let _ = stream.feed(delta);
    }
    stream.finish()
}

/// Runs a hostile guest's stream to its end; true if the guest failed or didn't start.
fn hostile(plugin: &Plugin) -> bool {
    let Some(mut stream) = Stream::start(plugin) else { return true };
    for text in ["Some ", "text <x>", "é"] {
        let _ = stream.feed(text);
    }
    stream.finish().2
}

/// Plays `count` healthy streams round-robin, and a hostile one every few rounds; returns the
/// number of hostile ones that failed.
fn play(
    plugin: &Plugin,
    guest: &Plugin,
    count: usize,
    expected: &[(Vec<FoldedItem>, TurnEnd, bool)],
) -> usize {
    let outputs: Vec<_> = QWEN3.iter().map(|(_, output)| deltas(output)).collect();
    let mut streams: Vec<_> = (0..count).map(|_| Stream::start(plugin).expect("it starts")).collect();
    let rounds = outputs.iter().map(Vec::len).max().expect("transcripts");
    let mut caught = 0;
    for round in 0..rounds {
        if round % EVERY == 0 {
            caught += usize::from(hostile(guest));
        }
        for (index, stream) in streams.iter_mut().enumerate() {
            if let Some(delta) = outputs[index % outputs.len()].get(round) {
                let _ = stream.feed(delta);
            }
        }
    }
    for (index, stream) in streams.into_iter().enumerate() {
        assert_eq!(stream.finish(), expected[index % expected.len()], "{}", QWEN3[index % QWEN3.len()].0);
    }
    caught
}

#[test]
fn hundred_healthy_streams_notice_no_hostile_guest() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let plugin = load(&runtime, "qwen3", SHIPPED).expect("the shipped parser loads");
    let expected: Vec<_> = QWEN3.iter().map(|(_, output)| alone(&plugin, output)).collect();
    assert!(expected.iter().all(|(.., faulted)| !faulted));
    let mut guilty = 0;
    for name in NAMES {
        let Some(guest) = load_guest(&runtime, name) else { continue };
        let caught: usize = std::thread::scope(|scope| {
            let play = || play(&plugin, &guest, NEIGHBOURS / THREADS, &expected);
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(play)).collect();
            threads.into_iter().map(|thread| thread.join().expect("all streams are as alone")).sum()
        });
        guilty += usize::from(caught > 0);
    }
    assert!(guilty >= 20, "only {guilty} guests did what they are there for");
}
