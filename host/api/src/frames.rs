//! Framing of events as server-sent events, for one reader of an answer: each event is one whole
//! frame, so that no write ends inside one. Padding, comments, names that only this
//! reader knows and the end's mark are in no log.

use bytes::{BufMut, BytesMut};

use super::event_buffer::{EventBuffer, Label};
use super::event_names::EventNames;
use super::obfuscation::Obfuscation;
use system::random;

/// Comment that keeps an idle connection open; clients skip it.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Framer of one reader.
#[derive(Debug, Clone)]
pub struct Frames {
    /// Whether the protocol's streams end with `data: [DONE]`.
    has_done: bool,
    /// Made when the first event asks for padding.
    padding: Option<Obfuscation>,
    names: EventNames,
}

impl Frames {
    /// A framer of the events of a protocol whose streams end with `[DONE]`, or don't.
    pub fn new(has_done: bool) -> Self {
        Self { has_done, padding: None, names: EventNames::default() }
    }

    /// The framer for a reader that knows events by these names.
    #[must_use]
    pub fn named(self, names: EventNames) -> Self {
        Self { names, ..self }
    }

    /// A framer whose padding is the same in each run.
    #[cfg(test)]
    pub(crate) fn with_seed(has_done: bool, seed: u64) -> Self {
        Self { padding: Some(Obfuscation::new(seed)), ..Self::new(has_done) }
    }

    /// Appends an event to `out`. Its JSON is an object, in two parts of which either may be empty,
    /// as a ring buffer has it.
    pub fn event(&mut self, label: Label, (json, rest): (&[u8], &[u8]), out: &mut BytesMut) {
        let Label { name, padding } = label;
        let name = name.unwrap_or_default();
        match self.names.other(name) {
            None => self.frame(name, padding, (json, rest), out),
            Some(other) => {
                let json = self.names.renamed(name, [json, rest].concat().into());
                self.frame(other, padding, (&json, &[]), out);
            }
        }
    }

    fn frame(&mut self, name: &str, padding: usize, (json, rest): (&[u8], &[u8]), out: &mut BytesMut) {
        const AROUND: usize = "event: ".len() + "\ndata: ".len() + "\n\n".len();
        const PADDING: usize = r#","obfuscation":"""#.len();
        out.reserve(AROUND + PADDING + name.len() + json.len() + rest.len() + padding);
        if !name.is_empty() {
            out.put_slice(b"event: ");
            out.put_slice(name.as_bytes());
            out.put_slice(b"\n");
        }
        out.put_slice(b"data: ");
        out.put_slice(json);
        out.put_slice(rest);
        if padding > 0 {
            let text = self.padding.get_or_insert_with(|| Obfuscation::new(random::seed())).pad(padding);
            debug_assert!(out.ends_with(b"}"), "padded events are objects that aren't empty");
            out.truncate(out.len() - 1);
            out.put_slice(br#","obfuscation":""#);
            out.put_slice(text);
            out.put_slice(b"\"}");
        }
        out.put_slice(b"\n\n");
    }

    /// Appends all events of `buffer` to `out`.
    pub fn events(&mut self, buffer: &EventBuffer, out: &mut BytesMut) {
        for (label, json) in buffer.iter() {
            self.event(label, (json, &[]), out);
        }
    }

    /// Appends what follows the last event of a whole answer.
    pub fn end(&self, out: &mut BytesMut) {
        if self.has_done {
            out.put_slice(b"data: [DONE]\n\n");
        }
    }
}
