//! Strict reader of server-sent events as this server writes them, for the stream validators: `\n`
//! line ends, at most one `event:` line, exactly one `data:` line per event, comments between
//! events only.

/// One event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Text after `event: `, if there is such a line.
    pub name: Option<&'a str>,
    /// Text after `data: `.
    pub data: &'a str,
}

/// Splits whole events; comments are skipped. An error says what is wrong and in which block.
pub fn events(bytes: &[u8]) -> Result<Vec<SseEvent<'_>>, String> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))?;
    if let Some(at) = text.find('\r') {
        return Err(format!("carriage return at byte {at}"));
    }
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let blocks = text.strip_suffix("\n\n").ok_or("the last event is cut off: no empty line after it")?;
    let mut events = Vec::new();
    for (number, block) in blocks.split("\n\n").enumerate() {
        events.extend(event(block).map_err(|what| format!("block {number}: {what}"))?);
    }
    Ok(events)
}

/// The event of one block; `None` for a comment.
pub(super) fn event(block: &str) -> Result<Option<SseEvent<'_>>, String> {
    if block.lines().all(|line| line.starts_with(':')) && !block.is_empty() {
        return Ok(None);
    }
    let (mut name, mut data) = (None, None);
    for line in block.split('\n') {
        let slot = match line.split_once(": ") {
            Some(("event", value)) if data.is_none() => (&mut name, value),
            Some(("data", value)) => (&mut data, value),
            _ => return Err("a line that is neither `event: …` before the data, nor `data: …`".to_owned()),
        };
        if slot.0.replace(slot.1).is_some() {
            return Err("two lines of one kind in one event".to_owned());
        }
    }
    data.map(|data| Some(SseEvent { name, data })).ok_or_else(|| "an event without data".to_owned())
}

/// The event of one block as a browser reads it, for streams that break the strict form: its name
/// and data; `None` without data.
pub(super) fn lenient(block: &str) -> Option<(Option<&str>, String)> {
    let (mut name, mut data) = (None, Vec::new());
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = Some(value),
            "data" => data.push(value),
            _ => {}
        }
    }
    (!data.is_empty()).then(|| (name, data.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{SseEvent, events};

    #[test]
    fn whole_events_and_comments_are_read() {
        let read = events(b": hi\n\nevent: a\ndata: {}\n\ndata: [DONE]\n\n").unwrap();
        let expected = [SseEvent { name: Some("a"), data: "{}" }, SseEvent { name: None, data: "[DONE]" }];
        assert_eq!(read, expected);
    }

    #[test]
    fn every_looseness_is_refused() {
        let bad: [&[u8]; 8] = [
            b"data: {}\r\n\r\n",
            b"data: {}\n",
            b"data: {}\n\ndata: {",
            b"data: 1\ndata: 2\n\n",
            b"event: a\n\n",
            b"data:{}\n\n",
            b"data: {}\nevent: a\n\n",
            b"data: \xff\n\n",
        ];
        for bytes in bad {
            assert!(events(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
