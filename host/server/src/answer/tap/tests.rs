//! Traces within their bounds: kept lines, listed answers, readers.

use std::time::Instant;

use super::*;

fn begin(taps: &Taps) -> TapWriter {
    taps.begin(Map::new(), AnswerTrace::new(Instant::now()))
}

fn listed(taps: &Taps) -> usize {
    taps.list_json()["data"].as_array().map_or(0, Vec::len)
}

#[test]
fn traces_are_bounded_alone_and_together() {
    let taps = Taps::default();
    let line = "x".repeat(1 << 20);
    let mut writers: Vec<_> = (0..32).map(|_| begin(&taps)).collect();
    for _ in 0..8 {
        for writer in &mut writers {
            writer.trace.push("step", json!({ "text": line }));
            writer.events(1, None);
        }
    }
    let kept: usize = taps.answers.lock().iter().map(|tap| tap.bytes.load(Ordering::Relaxed)).sum();
    assert!(kept <= ALL_BYTES, "{kept}");
    assert_eq!(listed(&taps), ALL_BYTES / TRACE_BYTES);
    assert!(writers.iter().filter(|writer| writer.log.is_some()).count() <= ALL_BYTES / TRACE_BYTES);
    writers[0].trace.push("step", json!({}));
    assert!(writers[0].trace.take().is_empty(), "nothing is written for nobody");
    assert!(taps.reader(1, None).is_none());
    let of_the_first = |after| taps.reader(32, after).expect("it is kept").first;
    let first = of_the_first(None).expect("the log has dropped it");
    assert_eq!(first, r#"{"type":"answer","id":"32","line":0}"#);
    assert_eq!(of_the_first(Some(0)), None);
    drop(writers);
    assert_eq!(taps.list_json()["data"][0]["state"], "cancelled");
}

#[test]
fn only_the_last_answers_are_listed() {
    let taps = Taps::default();
    for _ in 0..=ANSWERS {
        begin(&taps).end("completed");
    }
    assert_eq!(listed(&taps), ANSWERS);
}
