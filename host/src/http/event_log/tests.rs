//! Tests of the log: reads at any time, from any event, by several readers.

use futures_util::FutureExt;
use futures_util::task::noop_waker;

use super::*;
use crate::random;

const ALL: usize = usize::MAX;

/// Appends the events `numbers` in one append.
fn append(log: &LogWriter, numbers: std::ops::Range<u64>) {
    let mut frames = Frames::new();
    for number in numbers {
        frames.push(Some("e"), &number);
    }
    log.append(&mut frames);
    assert!(frames.bytes().is_empty() && frames.ends().is_empty());
}

fn text(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|number| format!("event: e\ndata: {number}\n\n")).collect::<Vec<_>>().concat()
}

/// Events that can be read now; none at the end of the log.
fn read(reader: &mut LogReader) -> Poll<Option<String>> {
    let events = reader.poll_events(&mut Context::from_waker(&noop_waker()));
    events.map(|events| events.map(|events| String::from_utf8(events.to_vec()).unwrap()))
}

#[test]
fn a_reader_gets_every_event_once_and_in_order_however_reads_and_appends_mix() {
    let mut draw = random::seed();
    let (log, mut reader) = event_log(1000, 0);
    let (mut written, mut got) = (0, String::new());
    for _ in 0..1000 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if draw >> 63 == 0 {
            let count = (draw >> 40) % 5;
            append(&log, written..written + count);
            written += count;
        } else if let Poll::Ready(events) = read(&mut reader) {
            got += &events.unwrap();
        }
    }
    drop(log);
    while let Poll::Ready(Some(events)) = read(&mut reader) {
        got += &events;
    }
    assert_eq!(read(&mut reader), Poll::Ready(None));
    assert_eq!(got, text(0..written));
}

#[test]
fn what_has_come_is_taken_at_once() {
    let (log, mut reader) = event_log(8, 0);
    append(&log, 0..2);
    append(&log, 2..5);
    assert_eq!(read(&mut reader), Poll::Ready(Some(text(0..5))));
    assert_eq!(read(&mut reader), Poll::Pending);
}

#[test]
fn a_reader_may_begin_at_any_event_that_is_kept() {
    let (log, mut first) = event_log(100, ALL);
    for number in 0..20 {
        append(&log, number * 2..number * 2 + 2);
        assert_eq!(read(&mut first), Poll::Ready(Some(text(number * 2..number * 2 + 2))));
    }
    for from in 0..=40 {
        let mut other = first.another_from(from).unwrap();
        let expected = if from == 40 { Poll::Pending } else { Poll::Ready(Some(text(from..40))) };
        assert_eq!(read(&mut other), expected, "from {from}");
    }
    let mut late = first.another_from(40).unwrap();
    append(&log, 40..41);
    assert_eq!(read(&mut late), Poll::Ready(Some(text(40..41))));
    assert_eq!(read(&mut first), Poll::Ready(Some(text(40..41))));
}

#[test]
fn an_event_that_is_not_kept_any_more_is_said_to_be_gone() {
    let (log, mut reader) = event_log(100, text(0..3).len());
    append(&log, 0..5);
    assert!(reader.another_from(0).is_ok(), "somebody hasn't read them");
    assert_eq!(read(&mut reader), Poll::Ready(Some(text(0..5))));
    assert_eq!(reader.another_from(1).err(), Some(Expired(1)));
    assert_eq!(read(&mut reader.another_from(2).unwrap()), Poll::Ready(Some(text(2..5))));
}

#[test]
fn a_log_that_keeps_nothing_holds_nothing_once_all_have_read() {
    let (log, mut first) = event_log(100, 0);
    let mut second = first.another_from(0).unwrap();
    append(&log, 0..5);
    assert!(read(&mut first).is_ready());
    assert_eq!(log.0.lock().bytes.len(), text(0..5).len(), "the second hasn't");
    assert_eq!(read(&mut second), Poll::Ready(Some(text(0..5))));
    assert!(log.0.lock().bytes.is_empty() && log.0.lock().ends.is_empty());
}

#[test]
fn the_writer_waits_for_a_reader_that_is_a_queue_behind_and_for_nobody_else() {
    let (log, mut reader) = event_log(2, 0);
    append(&log, 0..1);
    assert!(log.has_room());
    append(&log, 1..9);
    assert_eq!((log.has_room(), log.room().now_or_never()), (false, None));
    assert!(read(&mut reader).is_ready());
    assert_eq!((log.has_room(), log.room().now_or_never()), (true, Some(())));
    append(&log, 9..10);
    append(&log, 10..11);
    assert_eq!(log.room().now_or_never(), None);
    drop(reader);
    assert_eq!(log.room().now_or_never(), Some(()));
}

#[test]
fn the_writer_hears_of_a_due_heartbeat_once_and_of_the_last_reader_that_leaves() {
    let (log, reader) = event_log(2, 0);
    assert_eq!(log.signal().now_or_never(), None);
    reader.ask_for_heartbeat();
    assert_eq!(log.signal().now_or_never(), Some(Signal::HeartbeatDue));
    assert_eq!(log.signal().now_or_never(), None);
    let other = reader.another_from(0).unwrap();
    drop(reader);
    assert_eq!(log.signal().now_or_never(), None);
    drop(other);
    assert_eq!(log.signal().now_or_never(), Some(Signal::Unread));
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let (log, mut reader) = event_log(1, 0);
    let writing = async {
        for number in 0..100 {
            log.room().await;
            append(&log, number..number + 1);
        }
        log.signal().await
    };
    let reading = async {
        let mut got = String::new();
        while got.len() < text(0..100).len() {
            got += std::str::from_utf8(&poll_fn(|cx| reader.poll_events(cx)).await.unwrap()).unwrap();
        }
        reader.ask_for_heartbeat();
        got
    };
    let (signal, got) = tokio::join!(writing, reading);
    assert_eq!((signal, got), (Signal::HeartbeatDue, text(0..100)));
}
