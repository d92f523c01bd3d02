//! What the parser says in advance of text that comes: its route, or that it is to be held, and
//! what ends that. `router` keeps it.

use super::open_json::OpenJson;
use super::step_error::StepError;
use contract::{self, HoldUntil, JsonRest, Route};

/// Maximum number of bytes in an `until-byte`.
const MAX_BYTES: usize = 16;
/// Maximum length of the text that a `hold-until` keeps from the parser, in bytes.
const MAX_HELD: usize = 512;

/// Route of the text up to the next marker, or up to something before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetRoute {
    /// Route of the text.
    pub route: Route,
    end: End,
}

/// What ends an [`Until`] before a marker does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Nothing,
    /// Any of these bytes.
    Bytes(AsciiSet),
    /// The bracket that closes a JSON value.
    Json(OpenJson),
}

/// Some ASCII characters, one bit for each. Two words, since a shift of 128 bits is several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct AsciiSet([u64; 2]);

impl AsciiSet {
    fn of(bytes: &str) -> Option<Self> {
        (bytes.len() <= MAX_BYTES).then(|| Self::of_bytes(bytes.bytes())).flatten()
    }

    fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> Option<Self> {
        bytes.into_iter().try_fold(Self::default(), |mut set, byte| {
            *set.0.get_mut(usize::from(byte >> 6))? |= 1 << (byte & 63);
            Some(set)
        })
    }

    /// Place of the first of them in `text`.
    #[inline]
    fn find(self, text: &[u8]) -> Option<usize> {
        let is_one = |byte: &u8| byte.is_ascii() && self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
        text.iter().position(is_one)
    }
}

/// Rule by which text waits without the parser being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldRule {
    ends: AsciiSet,
    at_most: usize,
}

impl HoldRule {
    /// The rule of an op.
    ///
    /// # Errors
    /// It names a byte that isn't ASCII, or a length that can't be.
    pub fn new(hold: HoldUntil) -> Result<Self, StepError> {
        let at_most = usize::try_from(hold.at_most).ok().filter(|at_most| (1..=MAX_HELD).contains(at_most));
        let ends = AsciiSet::of_bytes(hold.ends.into_iter().filter(|byte| *byte != 0));
        ends.zip(at_most).map(|(ends, at_most)| Self { ends, at_most }).ok_or(StepError::HoldUntil)
    }

    /// Whether the parser needn't be asked about this text, which is all that it hasn't seen.
    #[inline]
    pub fn holds(self, unseen: &str) -> bool {
        unseen.len() < self.at_most && self.ends.find(unseen.as_bytes()).is_none()
    }
}

impl PresetRoute {
    /// Route up to the next marker.
    pub fn marker(route: Route) -> Self {
        Self { route, end: End::Nothing }
    }

    /// Route up to the next marker or one of these bytes.
    pub fn byte(until: &contract::Until) -> Result<Self, StepError> {
        let stops = AsciiSet::of(&until.bytes).filter(|_| !until.bytes.is_empty());
        Ok(Self { route: until.route, end: End::Bytes(stops.ok_or(StepError::UntilBytes)?) })
    }

    /// Route up to the bracket that closes a JSON value, or the next marker outside of its strings.
    pub fn json(rest: JsonRest) -> Result<Self, StepError> {
        let json = OpenJson::new(rest.depth, rest.in_string).ok_or(StepError::UntilJson)?;
        Ok(Self { route: rest.route, end: End::Json(json) })
    }

    /// Number of bytes of `text`, which comes next, before what ends the route.
    #[inline]
    pub fn bytes_before_end(&mut self, text: &str) -> usize {
        match &mut self.end {
            End::Nothing => text.len(),
            End::Bytes(stops) => stops.find(text.as_bytes()).unwrap_or(text.len()),
            End::Json(json) => json.follow(text.as_bytes()),
        }
    }

    /// Whether it goes up to the end of a JSON value.
    pub(crate) fn is_json(&self) -> bool {
        matches!(&self.end, End::Json(_))
    }

    /// Whether the next byte is inside a string of the followed JSON: a marker there is part of the
    /// string.
    pub fn in_string(&self) -> bool {
        matches!(&self.end, End::Json(json) if json.in_string())
    }
}
