//! Tests at the room's boundary: whoever reads an answer, from whatever event on and whenever,
//! framed or not, gets the same events.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::task::noop_waker;
use hyper::body::Body;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{EventReader, LogEvent, LogReader, LogWriter, Policy, ReadError, SseBody, event_log};
use crate::limits::HttpLimits;
use api::event_buffer::EventBuffer;
use api::frames::Frames;
use api::machine::Machine;
use api::{ApiRequest, Defaults, Protocol, sse};
use contract::Payload;
use turn::{ItemHead, ItemStatus, Phase, TurnEnd, TurnEvent, Usage};

const REQUESTS: [(Protocol, &str); 4] = [
    (Protocol::Responses, r#"{"model":"m","input":"x"}"#),
    (
        Protocol::Chat,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}],"stream_options":{"include_obfuscation":true,"include_usage":true}}"#,
    ),
    (Protocol::Completions, r#"{"model":"m","prompt":"x"}"#),
    (Protocol::Messages, r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}"#),
];

fn machine(protocol: Protocol, body: &str) -> Box<dyn Machine> {
    let ApiRequest { machine, .. } = protocol.read(body.as_bytes(), &Defaults::default()).unwrap();
    machine
}

/// A turn with an item of each kind.
fn turn() -> Vec<TurnEvent> {
    let call = ItemHead::ToolCall { call_id: "c".into(), name: "f".into(), payload: Payload::Json };
    let items: [(ItemHead, &[&str]); 3] = [
        (ItemHead::Reasoning, &["Two ", "cities: \"é🌍\"", ".\n"]),
        (ItemHead::Message { phase: Phase::Unspecified }, &["I'll", " look,\"obfuscation\":\"", " both up."]),
        (call, &["{\"city\":", " \"Paris\"", "}"]),
    ];
    let mut events = Vec::new();
    for (head, texts) in items {
        events.push(TurnEvent::Open(head));
        events.extend(texts.iter().map(|text| TurnEvent::Text((*text).into())));
        events.push(TurnEvent::Close(ItemStatus::Completed));
    }
    events
}

/// Appends what the machine makes of the next events of a turn, or ends the log after the last.
fn write(machine: &mut dyn Machine, turn: &mut std::vec::IntoIter<TurnEvent>, count: usize, log: &LogWriter) {
    let mut buffer = EventBuffer::new();
    for event in turn.by_ref().take(count) {
        machine.turn(&event, &mut buffer);
    }
    if turn.len() > 0 {
        return log.append(&mut buffer);
    }
    machine.end(&TurnEnd::Completed, Usage::default(), &mut buffer);
    log.finish(&mut buffer);
}

/// A body, and what it has sent.
struct Sse {
    body: SseBody,
    sent: Vec<u8>,
    over: bool,
}

impl Sse {
    fn new(log: LogReader, machine: &dyn Machine) -> Self {
        let body = SseBody::new(log, Frames::new(machine.has_done()), &HttpLimits::default());
        Self { body, sent: Vec::new(), over: false }
    }

    fn read(&mut self) {
        let waker = noop_waker();
        let mut cx = Context::from_waker(&waker);
        while let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(&mut cx) {
            let Some(Ok(frame)) = frame else { return self.over = true };
            self.sent.extend(frame.into_data().unwrap());
        }
    }

    /// Name and data of each event, without padding.
    fn events(&self) -> Vec<(Option<&str>, String)> {
        let events = sse::events(&self.sent).unwrap();
        events.into_iter().map(|event| (event.name, without_padding(event.data))).collect()
    }
}

fn without_padding(data: &str) -> String {
    // A quotation mark in a text is escaped.
    data.rfind(r#","obfuscation":""#).map_or_else(|| data.to_owned(), |at| format!("{}}}", &data[..at]))
}

/// An unframed reader, and what it has got.
struct Unframed {
    reader: EventReader,
    got: Vec<LogEvent>,
    end: Option<Result<(), ReadError>>,
}

impl Unframed {
    fn new(log: LogReader) -> Self {
        Self { reader: EventReader::new(log), got: Vec::new(), end: None }
    }

    fn read(&mut self) {
        while let Some(next) = self.reader.next().now_or_never() {
            match next {
                Ok(Some(event)) => self.got.push(event),
                end => return self.end = Some(end.map(|_| ())),
            }
        }
    }
}

proptest! {
    #[test]
    fn every_reader_gets_the_first_readers_events(
        protocol in 0..REQUESTS.len(), cuts in vec((1..5_usize, any::<[bool; 3]>()), 20), from in 0..30_u64, joins in 0..20_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _timers = runtime.enter();
        let (protocol, request) = REQUESTS[protocol];
        let mut machine = machine(protocol, request);
        let (log, reader) = event_log(Policy::Continue { kept_bytes: usize::MAX });
        let handle = log.log();
        let mut first = Sse::new(reader, &*machine);
        let (mut follower, mut unframed) = (None, None);
        let mut buffer = EventBuffer::new();
        machine.begin(&mut buffer);
        log.append(&mut buffer);
        let mut turn = turn().into_iter();
        let mut log = Some(log);
        for (number, (count, [one, other, third])) in cuts.into_iter().enumerate() {
            if let Some(writer) = log.take() {
                write(&mut *machine, &mut turn, count, &writer);
                log = (turn.len() > 0).then_some(writer);
            }
            if number == joins {
                follower = Some(Sse::new(handle.reader_from(from).unwrap(), &*machine));
                unframed = Some(Unframed::new(handle.reader_from(from).unwrap()));
            }
            if one { first.read() }
            if other { follower.iter_mut().for_each(Sse::read) }
            if third { unframed.iter_mut().for_each(Unframed::read) }
        }
        prop_assert!(log.is_none(), "the turn has ended");
        let (mut follower, mut unframed) = (follower.unwrap(), unframed.unwrap());
        first.read();
        follower.read();
        unframed.read();
        prop_assert!(first.over && follower.over);
        prop_assert_eq!(unframed.end, Some(Ok(())));

        let all = first.events();
        let is_done = |event: &(Option<&str>, String)| event.1 == "[DONE]";
        prop_assert_eq!(all.iter().filter(|event| is_done(event)).count(), usize::from(machine.has_done()));
        let skipped = usize::try_from(from).unwrap().min(all.len() - usize::from(machine.has_done()));
        prop_assert_eq!(follower.events(), &all[skipped..]);
        let rest: Vec<_> = all[skipped..].iter().filter(|event| !is_done(event)).collect();
        prop_assert_eq!(unframed.got.len(), rest.len());
        for (number, (event, (name, data))) in (from..).zip(unframed.got.iter().zip(rest)) {
            prop_assert_eq!((event.number, event.name, &*event.json), (number, *name, data.as_bytes()));
            if protocol == Protocol::Responses {
                let value: serde_json::Value = serde_json::from_slice(&event.json).unwrap();
                prop_assert_eq!(&value["sequence_number"], number);
            }
        }
        let mut check = protocol.check();
        prop_assert_eq!(check.feed(&first.sent).and_then(|()| check.finish()), Ok(()));
    }
}

#[tokio::test]
async fn each_reader_draws_its_own_padding() {
    for (protocol, request) in &REQUESTS[..2] {
        let mut machine = machine(*protocol, request);
        let (log, reader) = event_log(Policy::Continue { kept_bytes: usize::MAX });
        let mut readers = [reader, log.log().reader_from(0).unwrap()].map(|log| Sse::new(log, &*machine));
        write(&mut *machine, &mut turn().into_iter(), usize::MAX, &log);
        readers.iter_mut().for_each(Sse::read);
        let [one, other] = &readers;
        assert_eq!((one.events(), one.sent.len()), (other.events(), other.sent.len()));
        assert_ne!(one.sent, other.sent);
    }
}

#[tokio::test]
async fn a_stream_that_broke_off_has_no_end() {
    let (protocol, request) = REQUESTS[0];
    let mut machine = machine(protocol, request);
    let (log, reader) = event_log(Policy::Cancel { queue: 9 });
    let (mut framed, mut unframed) =
        (Sse::new(reader, &*machine), Unframed::new(log.log().reader_from(0).unwrap()));
    write(&mut *machine, &mut turn().into_iter(), 3, &log);
    drop(log);
    framed.read();
    unframed.read();
    assert!(framed.over && !framed.events().is_empty());
    assert!(framed.events().iter().all(|(_, data)| data != "[DONE]"));
    assert_eq!(unframed.end, Some(Err(ReadError::BrokenOff)));
    assert_eq!(unframed.got.len(), framed.events().len());
}
