//! Tests of the log: reads at any time, from any event, by several readers.

use std::task::Wake;

use futures_util::FutureExt;
use futures_util::task::noop_waker;
use seeded::SplitMix64;

use super::*;
use system::random;

const KEEP_ALL: Policy = Policy::Continue { kept_bytes: usize::MAX };

fn waiting_for(queue: usize) -> Policy {
    Policy::Cancel { queue }
}

/// Appends the events `numbers` in one append.
fn append(log: &LogWriter, numbers: std::ops::Range<u64>) {
    let mut buffer = EventBuffer::new();
    for number in numbers {
        buffer.push(Some("e"), &number);
    }
    log.append(&mut buffer);
    assert!(buffer.is_empty());
}

fn text(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|number| format!("{number}: {number}\n")).collect::<Vec<_>>().concat()
}

/// Events that can be read now; none at the end of the log.
fn read(reader: &mut LogReader) -> Poll<Result<Option<String>, ReadError>> {
    read_with(reader, &Context::from_waker(&noop_waker()))
}

fn read_with(reader: &mut LogReader, cx: &Context<'_>) -> Poll<Result<Option<String>, ReadError>> {
    let mut got = String::new();
    let read = reader.poll_read(cx, |number, label, (json, rest)| {
        assert_eq!(label.name, Some("e"));
        let json = String::from_utf8([json, rest].concat()).unwrap();
        got.extend([&number.to_string(), ": ", &json, "\n"]);
    });
    read.map_ok(|read| (read == Read::Events || !got.is_empty()).then_some(got))
}

fn ready(numbers: std::ops::Range<u64>) -> Poll<Result<Option<String>, ReadError>> {
    Poll::Ready(Ok(Some(text(numbers))))
}

/// Hands the events of a random program of appends and reads to a reader, and compares.
fn mix(policy: Policy) {
    let mut random = SplitMix64::new(random::seed());
    let (log, mut reader) = event_log(policy);
    let (mut written, mut got) = (0, String::new());
    for _ in 0..1000 {
        if random.below(2) == 0 {
            let count = random.draw() % 5;
            append(&log, written..written + count);
            written += count;
        } else if let Poll::Ready(events) = read(&mut reader) {
            got += &events.unwrap().unwrap();
        }
    }
    log.finish(&mut EventBuffer::new());
    while let Poll::Ready(Ok(Some(events))) = read(&mut reader) {
        got += &events;
    }
    assert_eq!(read(&mut reader), Poll::Ready(Ok(None)));
    assert_eq!(got, text(0..written));
}

#[test]
fn reader_gets_every_event_once_in_order_in_any_mix() {
    mix(waiting_for(1000));
    mix(KEEP_ALL);
    // The ring of a log that keeps a part of its events is nearly always in two pieces.
    mix(Policy::Continue { kept_bytes: 1 << 16 });
}

#[test]
fn what_has_come_is_taken_at_once() {
    let (log, mut reader) = event_log(waiting_for(8));
    append(&log, 0..2);
    append(&log, 2..5);
    assert_eq!(read(&mut reader), ready(0..5));
    assert_eq!(read(&mut reader), Poll::Pending);
}

#[test]
fn a_long_log_is_read_in_pieces() {
    let (log, mut reader) = event_log(waiting_for(2));
    append(&log, 0..50_000);
    append(&log, 50_000..50_001);
    let (mut got, mut reads) = (String::new(), 0);
    while let Poll::Ready(events) = read(&mut reader) {
        got += &events.unwrap().unwrap();
        reads += 1;
        assert_eq!(log.has_room(), got.len() == text(0..50_001).len(), "the rest is still to be read");
    }
    assert_eq!(got, text(0..50_001));
    assert_eq!(reads, 4, "of 64 KiB each");
}

#[test]
fn a_reader_may_begin_at_any_event_that_is_kept() {
    let (log, mut first) = event_log(KEEP_ALL);
    for number in 0..20 {
        append(&log, number * 2..number * 2 + 2);
        assert_eq!(read(&mut first), ready(number * 2..number * 2 + 2));
    }
    for from in 0..=40 {
        let mut other = log.log().reader_from(from).unwrap();
        let expected = if from == 40 { Poll::Pending } else { ready(from..40) };
        assert_eq!(read(&mut other), expected, "from {from}");
    }
    let mut late = log.log().reader_from(40).unwrap();
    let mut later = log.log().reader_from(41).unwrap();
    append(&log, 40..41);
    assert_eq!(read(&mut late), ready(40..41));
    assert_eq!(read(&mut later), Poll::Pending);
    append(&log, 41..42);
    assert_eq!(read(&mut later), ready(41..42));
    assert_eq!(read(&mut first), ready(40..42));
}

#[test]
fn an_ended_log_is_read_while_anybody_holds_it() {
    let (log, first) = event_log(KEEP_ALL);
    append(&log, 0..3);
    log.finish(&mut EventBuffer::new());
    let handle = log.log();
    drop((log, first));
    for from in 0..=5 {
        let mut reader = handle.reader_from(from).unwrap();
        let expected = if from < 3 { ready(from..3) } else { Poll::Ready(Ok(None)) };
        assert_eq!(read(&mut reader), expected, "from {from}");
        assert_eq!(read(&mut reader), Poll::Ready(Ok(None)));
    }
}

#[test]
fn a_log_without_its_end_says_it_broke_off() {
    for policy in [KEEP_ALL, waiting_for(9)] {
        let (log, mut reader) = event_log(policy);
        append(&log, 0..3);
        drop(log);
        assert_eq!(read(&mut reader), ready(0..3));
        assert_eq!(read(&mut reader), Poll::Ready(Err(ReadError::BrokenOff)));
    }
}

#[test]
fn event_no_longer_kept_is_said_to_be_gone() {
    let entry = 1 + 32;
    let (log, mut slow) = event_log(Policy::Continue { kept_bytes: 3 * entry });
    append(&log, 0..3);
    let mut fast = log.log().reader_from(0).unwrap();
    assert_eq!(read(&mut fast), ready(0..3));
    append(&log, 3..5);
    assert_eq!(read(&mut slow), Poll::Ready(Err(ReadError::Expired(1))));
    assert_eq!(read(&mut fast), ready(3..5));
    assert_eq!(log.log().reader_from(1).err(), Some(ReadError::Expired(1)));
    assert_eq!(read(&mut log.log().reader_from(2).unwrap()), ready(2..5));
    assert_eq!(log.0.lock().kept(), (3, 3));
    // One append may be larger than what is kept: whoever has kept up still gets it.
    append(&log, 5..9);
    assert_eq!(read(&mut fast), ready(5..9));
    assert_eq!(log.0.lock().kept(), (4, 4));
}

#[test]
fn log_keeping_nothing_is_empty_once_all_have_read() {
    let (log, mut first) = event_log(waiting_for(100));
    let mut second = log.log().reader_from(0).unwrap();
    append(&log, 0..5);
    assert!(read(&mut first).is_ready());
    assert_eq!(log.0.lock().kept(), (5, 5), "the second hasn't");
    assert_eq!(read(&mut second), ready(0..5));
    assert_eq!(log.0.lock().kept(), (0, 0));
    assert_eq!(log.log().reader_from(4).err(), Some(ReadError::Expired(4)));
}

#[test]
fn writer_waits_only_for_a_reader_a_queue_behind() {
    let (log, mut reader) = event_log(waiting_for(2));
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
fn a_continuing_log_waits_for_nobody() {
    let (log, reader) = event_log(KEEP_ALL);
    for number in 0..100 {
        append(&log, number..number + 1);
        assert!(log.has_room());
    }
    drop(reader);
    assert_eq!(log.signal().now_or_never(), None);
    assert_eq!(read(&mut log.log().reader_from(0).unwrap()), ready(0..100));
}

#[test]
fn writer_hears_a_heartbeat_once_and_the_last_leaver() {
    let (log, reader) = event_log(waiting_for(2));
    assert_eq!(log.signal().now_or_never(), None);
    reader.ask_for_heartbeat();
    assert_eq!(log.signal().now_or_never(), Some(Signal::HeartbeatDue));
    assert_eq!(log.signal().now_or_never(), None);
    let other = log.log().reader_from(0).unwrap();
    drop(reader);
    assert_eq!(log.signal().now_or_never(), None);
    drop(other);
    assert_eq!(log.signal().now_or_never(), Some(Signal::NoReader));
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let (log, mut reader) = event_log(waiting_for(1));
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
            got += &poll_fn(|cx| read_with(&mut reader, cx)).await.unwrap().unwrap();
        }
        reader.ask_for_heartbeat();
        got
    };
    let (signal, got) = tokio::join!(writing, reading);
    assert_eq!((signal, got), (Signal::HeartbeatDue, text(0..100)));
}

/// Waker that counts its wakes, by whether the log's lock was free.
struct LockProbe {
    log: EventLog,
    wakes: Mutex<[u32; 2]>,
}

impl Wake for LockProbe {
    fn wake(self: Arc<Self>) {
        let is_free = self.log.0.state.try_lock().is_ok();
        self.wakes.lock().unwrap()[usize::from(is_free)] += 1;
    }
}

#[test]
fn nobody_is_woken_under_the_lock() {
    let (log, mut first) = event_log(waiting_for(1));
    let mut second = log.log().reader_from(0).unwrap();
    let probe = Arc::new(LockProbe { log: log.log(), wakes: Mutex::default() });
    let waker = Waker::from(Arc::clone(&probe));
    let mut cx = Context::from_waker(&waker);
    // Two readers that wait for an event, the writer for room, the writer for a signal, two readers
    // that wait for the end.
    assert!(read_with(&mut first, &cx).is_pending() && read_with(&mut second, &cx).is_pending());
    append(&log, 0..1);
    assert!(Box::pin(log.room()).poll_unpin(&mut cx).is_pending());
    assert!(read(&mut first).is_ready() && read(&mut second).is_ready());
    assert!(Box::pin(log.signal()).poll_unpin(&mut cx).is_pending());
    first.ask_for_heartbeat();
    assert!(read_with(&mut first, &cx).is_pending() && read_with(&mut second, &cx).is_pending());
    drop(log);
    assert_eq!(*probe.wakes.lock().unwrap(), [0, 6]);
}
