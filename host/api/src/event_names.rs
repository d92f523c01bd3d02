//! Names of events for clients of Open Responses, whose releases call the events of plain reasoning
//! otherwise than OpenAI's API. Names are each reader's own, and logs have OpenAI's.

use bytes::Bytes;

/// Header by which a client says which release of Open Responses it reads.
pub const RELEASE_HEADER: &str = "openresponses-version";

/// Last release that has names of its own.
const LAST_RELEASE: &str = "2026-04-24";

/// OpenAI's names of those events, and the releases'.
const RENAMED: [(&str, &str); 2] = [
    ("response.reasoning_text.delta", "response.reasoning.delta"),
    ("response.reasoning_text.done", "response.reasoning.done"),
];

/// What stands before the name in an event's JSON.
const BEFORE: &str = r#"{"type":""#;

/// Whose names a reader of events knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EventNames {
    /// OpenAI's.
    #[default]
    OpenAi,
    /// Those of a release of Open Responses.
    Release,
}

impl EventNames {
    /// The names for a client whose header has this text. Those of a later release, or of the
    /// `latest`, are OpenAI's, as in that text's newest schema.
    pub fn of_release(text: &str) -> Self {
        let is_like =
            |(byte, like): (u8, u8)| if like == b'-' { byte == like } else { byte.is_ascii_digit() };
        let is_date = text.len() == LAST_RELEASE.len() && text.bytes().zip(LAST_RELEASE.bytes()).all(is_like);
        if is_date && text <= LAST_RELEASE { Self::Release } else { Self::OpenAi }
    }

    /// The name that the reader knows for the event `name`, where it is another.
    pub(crate) fn other(self, name: &str) -> Option<&'static str> {
        if self == Self::OpenAi {
            return None;
        }
        RENAMED.iter().find(|(openai, _)| *openai == name).map(|(_, release)| *release)
    }

    /// The JSON of the event `name` as the reader knows it.
    pub fn renamed(self, name: &str, json: Bytes) -> Bytes {
        let Some(other) = self.other(name) else { return json };
        [BEFORE, other]
            .concat()
            .into_bytes()
            .into_iter()
            .chain(json.slice(BEFORE.len() + name.len()..))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::EventNames;
    use crate::event_buffer::Label;
    use crate::frames::Frames;

    const DELTA: &str = "response.reasoning_text.delta";

    #[test]
    fn only_releases_have_names_of_their_own() {
        for text in ["2026-04-24", "2025-06-18"] {
            assert_eq!(EventNames::of_release(text), EventNames::Release, "{text}");
        }
        for text in ["2026-04-25", "latest", "", "2026-4-24", "2026-04-2x", "1.0"] {
            assert_eq!(EventNames::of_release(text), EventNames::OpenAi, "{text}");
        }
    }

    #[test]
    fn an_event_is_renamed_wherever_its_json_is_cut() {
        let json = format!(r#"{{"type":"{DELTA}","delta":"{DELTA}"}}"#);
        let renamed = format!(r#"{{"type":"response.reasoning.delta","delta":"{DELTA}"}}"#);
        assert_eq!(EventNames::Release.renamed(DELTA, Bytes::from(json.clone())), renamed);
        assert_eq!(EventNames::OpenAi.renamed(DELTA, Bytes::from(json.clone())), json);
        for cut in 0..=json.len() {
            let mut out = BytesMut::new();
            let parts = json.as_bytes().split_at(cut);
            let mut frames = Frames::new(false).named(EventNames::Release);
            frames.event(Label { name: Some(DELTA), padding: 0 }, parts, &mut out);
            assert_eq!(out, format!("event: response.reasoning.delta\ndata: {renamed}\n\n"), "{cut}");
        }
    }

    #[test]
    fn other_events_keep_their_names() {
        for name in ["response.output_text.delta", "response.reasoning_summary_text.delta", ""] {
            assert_eq!(EventNames::Release.other(name), None, "{name}");
        }
    }
}
