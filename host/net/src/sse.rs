//! Reader of another server's server-sent events, from bytes in any pieces: returns the data of one
//! event after the other.
//!
//! Format: WHATWG HTML, 9.2. Comments, other fields and empty events are skipped; lines end in `\n`
//! or `\r\n`. Invariants: bytes that were read are freed, and a stream is refused once more bytes
//! than the bound bring no event, whether they are one event, comments or blank lines. Used for
//! remote engines, tool servers, and servers that are measured.

use bytes::{Buf, BytesMut};

/// Maximum size of a server's event in bytes, besides what it may echo of the request.
pub const MAX_EVENT: usize = 1 << 20;

/// Error: more bytes than an event may have brought none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLong;

/// Reader of one stream of events; see the module.
#[derive(Debug)]
pub struct SseReader {
    /// Maximum number of bytes from one event's end to the next one's.
    max_event_bytes: usize,
    /// Number of bytes that were read since the last event's end.
    since_event: usize,
    /// Bytes that came and aren't read yet.
    bytes: BytesMut,
    /// Number of bytes at the start of `bytes` that were scanned and hold no line end.
    scanned: usize,
    /// Data of the event that has begun.
    data: Vec<u8>,
    has_data: bool,
    /// Type of the event that has begun, and of the one that was returned last.
    kinds: [Vec<u8>; 2],
}

impl SseReader {
    /// Creates a reader of events of at most `max_event_bytes` bytes.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            since_event: 0,
            bytes: BytesMut::new(),
            scanned: 0,
            data: Vec::new(),
            has_data: false,
            kinds: Default::default(),
        }
    }

    /// Appends bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Moves the data of the next whole event into `data`, in place of what was there; returns
    /// false if there is none yet.
    pub fn next(&mut self, data: &mut Vec<u8>) -> Result<bool, EventTooLong> {
        while let Some(end) = memchr::memchr(b'\n', &self.bytes[self.scanned..]) {
            let end = self.scanned + end;
            self.scanned = 0;
            let ends_event = self.line(end);
            self.bytes.advance(end + 1);
            self.since_event += end + 1;
            if self.since_event > self.max_event_bytes {
                return Err(EventTooLong);
            }
            if ends_event {
                self.kinds.swap(0, 1);
                self.kinds[0].clear();
            }
            if ends_event && std::mem::take(&mut self.has_data) {
                self.since_event = 0;
                std::mem::swap(&mut self.data, data);
                self.data.clear();
                return Ok(true);
            }
        }
        self.scanned = self.bytes.len();
        if self.since_event + self.bytes.len() > self.max_event_bytes { Err(EventTooLong) } else { Ok(false) }
    }

    /// Type of the event that `next` returned last; empty if it has none.
    pub fn kind(&self) -> &[u8] {
        &self.kinds[1]
    }

    /// Reads the line that ends at `end`. Returns whether it is the empty one that ends an event.
    fn line(&mut self, end: usize) -> bool {
        let line = &self.bytes[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(value) = line.strip_prefix(b"data:") {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        } else if let Some(kind) = line.strip_prefix(b"event:") {
            self.kinds[0].clear();
            self.kinds[0].extend_from_slice(kind.strip_prefix(b" ").unwrap_or(kind));
        }
        line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(reader: &mut SseReader) -> Result<Vec<String>, EventTooLong> {
        let (mut events, mut data) = (Vec::new(), Vec::new());
        while reader.next(&mut data)? {
            events.push(String::from_utf8(data.clone()).unwrap());
        }
        Ok(events)
    }

    #[test]
    fn comments_other_fields_and_empty_events_are_skipped() {
        let mut reader = SseReader::new(MAX_EVENT);
        reader.push(b": ping\n\nevent: x\nid: 1\ndata: {\"a\":1}\n\ndata:one\r\ndata: two\r\n\r\n\n\ndata\n\ndata: cut");
        assert_eq!(read(&mut reader), Ok(vec!["{\"a\":1}".to_owned(), "one\ntwo".to_owned()]));
    }

    #[test]
    fn an_event_has_its_own_type_only() {
        let mut reader = SseReader::new(MAX_EVENT);
        reader.push(b"event: a\ndata: 1\n\ndata: 2\n\nevent: lost\n\ndata: 3\nevent:b\r\n\r\n");
        let (mut data, mut kinds) = (Vec::new(), Vec::new());
        while reader.next(&mut data).unwrap() {
            kinds.push(String::from_utf8(reader.kind().to_vec()).unwrap());
        }
        assert_eq!(kinds, ["a", "", "b"]);
    }

    #[test]
    fn bytes_that_bring_no_event_are_refused_and_not_kept() {
        let piece = [b'x'; 1000];
        for (before, after) in [("", ""), ("data:", "\n"), (":", "\n"), ("event:", "\n\n")] {
            let mut reader = SseReader::new(MAX_EVENT);
            let refused = (0..10_000).find(|_| {
                reader.push(before.as_bytes());
                reader.push(&piece);
                reader.push(after.as_bytes());
                read(&mut reader).is_err()
            });
            assert!(refused.is_some_and(|pieces| pieces <= MAX_EVENT / 1000 + 1), "{refused:?}");
        }
    }

    proptest! {
        #[test]
        fn any_cuts_give_the_same_events(
            events in prop::collection::vec("[a-z\u{e4}{}\": ]{1,20}", 0..8),
            cuts in prop::collection::vec(0_usize..400, 0..12),
        ) {
            let texts: Vec<String> = events.iter().map(|event| format!(": c\ndata: {event}\r\n\n")).collect();
            let text = texts.concat();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let (mut reader, mut found) = (SseReader::new(MAX_EVENT), Vec::new());
            for pair in cuts.windows(2) {
                reader.push(&bytes[pair[0]..pair[1]]);
                found.extend(read(&mut reader).unwrap());
            }
            prop_assert_eq!(found, events);
        }
    }
}
