//! Trace context of a request, as the header `traceparent` carries it (W3C Trace Context, version
//! 00).

use std::fmt;

use system::random;

/// Trace and span that work belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanContext {
    /// 32 digits of lower-case hex, not all 0.
    trace_id: String,
    /// 16 digits of lower-case hex, not all 0.
    span_id: String,
    is_sampled: bool,
}

impl SpanContext {
    /// The first span of a new trace.
    pub fn root() -> Self {
        Self { trace_id: random::hex::<16>(), span_id: random::hex::<8>(), is_sampled: true }
    }

    /// A new span in the same trace.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: random::hex::<8>(), ..self.clone() }
    }

    /// Reads a header; none if it isn't valid, so that the trace begins here. Of a later version the
    /// fields of this one are read.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_id =
            |text: &str, length: usize| is_hex(text, length) && text.bytes().any(|digit| digit != b'0');
        let is_valid = is_hex(version, 2) && version != "ff" && is_id(trace_id, 32) && is_id(span_id, 16);
        if !is_valid || !is_hex(flags, 2) || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), is_sampled })
    }

    /// Id of the trace.
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Id of the span.
    pub fn span_id(&self) -> &str {
        &self.span_id
    }

    /// Whether whoever began the trace keeps it.
    pub fn is_sampled(&self) -> bool {
        self.is_sampled
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// As a header.
impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_read_as_it_was_written() {
        let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let read = SpanContext::parse(given).unwrap();
        assert_eq!((read.to_string().as_str(), read.is_sampled()), (given, true));
        assert!(!SpanContext::parse(&given.replace("-01", "-02")).unwrap().is_sampled());
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-follows";
        assert_eq!(SpanContext::parse(later).unwrap(), read);
        let child = read.child();
        assert!(child.trace_id() == read.trace_id() && child.span_id() != read.span_id());
        let root = SpanContext::root();
        assert_eq!(SpanContext::parse(&root.to_string()), Some(root));
    }

    #[test]
    fn header_that_is_not_valid_is_none() {
        for wrong in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        ] {
            assert_eq!(SpanContext::parse(wrong), None, "{wrong}");
        }
    }
}
