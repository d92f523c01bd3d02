//! Arguments of a call in a language's literals, rewritten as a JSON object while they arrive:
//! Python's keywords (`city="Oslo", days=3)`) and objects with unquoted keys
//! (`city:<|"|>Oslo<|"|>,days:3}`), whose strings may stand between markers.
//!
//! Invariant: text inside a string goes out with its own chunk, but for what may end the string and
//! some bytes behind that. Held is what isn't decided: a key, a number or word, the white space
//! behind it; 128 bytes at most. What is no literal goes out unchanged, so that the arguments
//! aren't JSON: nothing is guessed.
//!
//! What is JSON inside of values goes out as it is; the arguments themselves are written with a
//! blank behind each comma and colon. Values are strings, numbers, `true`, `false`, `null`
//! (Python's spellings, too), lists, tuples, sets and objects of these. Commas too many are
//! dropped. The arguments of a custom tool are its one string; beside another value the call is
//! incomplete.

mod ahead;
mod behind;
mod brace;
mod frame;
mod opening;
mod places;
mod quoted;
mod scalar;
mod strings;
mod word;

pub use opening::Opening;

use frame::{Frame, Kind};
use quoted::Quoted;

use crate::tools::CalledTool;
use crate::{Output, Payload, Route, Tools, Types};

/// Most bytes that are held.
const HELD: usize = 128;
/// Length in bytes up to which a string without quotes waits if it begins like a marker.
const MARKER: usize = 32;
/// Most brackets that may be open.
const DEPTH: usize = 100;

/// Reader of one call's arguments, from behind their opening bracket.
///
/// ```
/// use parser_sdk::literals::Literals;
/// use parser_kit::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request};
///
/// /// Everything is the arguments of one call.
/// struct Add(Option<Literals>);
///
/// impl Parser for Add {
///     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
///         Ok(Descriptor { name: "add".into(), version: "0.1.0".into(), ..Descriptor::default() })
///     }
///     fn start(_: &Request) -> Result<Self, String> {
///         Ok(Self(None))
///     }
///     fn text(&mut self, chunk: &str, out: &mut Output) {
///         let arguments = self.0.get_or_insert_with(|| {
///             out.tool_call("add", Payload::Json);
///             Literals::new(b')', Payload::Json)
///         });
///         arguments.read(chunk, out);
///     }
///     fn marker(&mut self, _: usize, _: &mut Output) {}
/// }
///
/// let items = play::<Add>(&request(&["add"]), "", ["to='x', of=[1, None])"], FinishReason::Stop);
/// assert_eq!(items, [Item::call("add", r#"{"to": "x", "of": [1, null]}"#)]);
/// ```
#[derive(Debug)]
pub struct Literals {
    /// Brackets that are open, those of the arguments first. None are open at the end.
    frames: Vec<Frame>,
    place: Place,
    /// Number of held bytes before `pending`: a comma between members of a value, and white space.
    comma: usize,
    /// The bytes that the host holds for the reader.
    pending: Vec<u8>,
    /// Number of pending bytes that may end a string: a quote or a marker. The string ended if what
    /// stands behind them shows it.
    closing: usize,
    /// What was held to show that and stands behind the arguments' end.
    behind: Vec<u8>,
    /// The declared tools, and which of them has these parameters.
    tool: CalledTool,
    /// Types of the present argument's value, as far as they are known.
    types: Types,
    /// Whether a value is of these types however it is spelt.
    is_typed: bool,
    /// Whether text without quotes is a string.
    bare: bool,
    /// Whether the call stands in a list.
    in_list: bool,
    input: Input,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a key or the bracket that closes the object.
    Key,
    /// In a key without quotes.
    KeyWord,
    /// Behind a quoted key.
    AfterKey,
    /// Before a value.
    Value,
    /// In a number or a word.
    Word,
    /// In a string without quotes.
    Bare,
    /// Behind a comma in a string without quotes: the next key, or more of the string.
    Comma,
    /// Behind a brace that opens an object or a set.
    Brace,
    Quoted(Quoted),
    /// Between two markers with this index, in a value that needn't be a string.
    Typed(usize),
    /// In a string, or a key, between two markers with this index.
    Marked {
        mark: usize,
        is_key: bool,
    },
    /// Behind a value.
    After,
    NoLiteral,
}

/// What becomes of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// They are the values of an object.
    Json,
    /// The first string is the input of a custom tool: before it, in it, behind it.
    Sought,
    Inside,
    Read,
}

impl Literals {
    /// Arguments that end with the bracket `close`, of a call with this payload.
    pub fn new(close: u8, payload: Payload) -> Self {
        let input = if payload == Payload::Text { Input::Sought } else { Input::Json };
        Self {
            frames: vec![Frame::new(Kind::Arguments, close)],
            place: Place::Key,
            comma: 0,
            pending: Vec::new(),
            closing: 0,
            behind: Vec::new(),
            tool: CalledTool::default(),
            types: Types::ANY,
            is_typed: false,
            bare: false,
            in_list: false,
            input,
        }
    }

    /// The same reader for a format whose strings may lack their quotes: other text than a literal
    /// is a string, which ends with the bracket around it, or with a comma (in an object, a comma
    /// that another key follows).
    #[must_use]
    pub fn with_bare_strings(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The same reader for a call in square brackets, whose own end follows the call's, or a comma.
    #[must_use]
    pub fn in_list(self, in_list: bool) -> Self {
        Self { in_list, ..self }
    }

    /// The same reader for arguments of the tool of this name, if it is declared. A number that
    /// begins with zeros is one where its parameter is no string.
    #[must_use]
    pub fn of_tool(self, tools: &Tools, name: &str) -> Self {
        Self { tool: tools.called(name), ..self }
    }

    /// The same reader for a format whose values have the types of the tool's parameters however
    /// they are spelt: a word is a string where the parameter is one, and a number may stand in
    /// markers as strings do.
    #[must_use]
    pub fn with_typed_values(self) -> Self {
        Self { is_typed: true, ..self }
    }

    /// Whether the next byte is inside a string or key with quotes: a marker there is text.
    pub fn in_string(&self) -> bool {
        match self.place {
            Place::Quoted(_) | Place::Marked { .. } => self.closing == 0 || !self.may_have_ended(),
            Place::Typed(_) => true,
            Place::Brace => brace::in_string(&self.pending),
            _ => false,
        }
    }

    /// Reads `text` up to the bracket that closes the arguments, where the call is closed. Returns
    /// the number of bytes read if it came. [`Self::take_behind`] has what follows the bracket in
    /// them, and is to be read first.
    pub fn read(&mut self, text: &str, out: &mut Output) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            index += self.step(&bytes[index..], out);
            if self.frames.is_empty() {
                out.close();
                return Some(index);
            }
        }
        if let Some(stops) = self.flowing().filter(|_| out.held() == 0) {
            out.until_byte(self.quoted_route(), stops);
        }
        None
    }

    /// The bytes that may end the string in which the next byte is, if nothing else decides
    /// anything.
    fn flowing(&self) -> Option<&'static str> {
        match self.place {
            Place::Quoted(quoted) if self.pending.is_empty() && quoted.has_begun() => Some(quoted.stops()),
            _ => None,
        }
    }

    /// Writes text of the JSON that the format spells otherwise.
    fn write(&self, json: &str, out: &mut Output) {
        if self.input == Input::Json && !json.is_empty() {
            out.derive(json);
        }
    }

    /// Route of text that is JSON as it is.
    fn json_route(&self) -> Route {
        if self.input == Input::Json { Route::Arguments } else { Route::Drop }
    }

    /// Route of the text of a string.
    fn plain_route(&self) -> Route {
        match self.input {
            Input::Json => Route::ArgumentsEscaped,
            Input::Inside => Route::Arguments,
            Input::Sought | Input::Read => Route::Drop,
        }
    }

    /// Route of the text of a string that may have escapes.
    fn quoted_route(&self) -> Route {
        match self.input {
            Input::Inside => Route::ArgumentsUnescaped,
            _ => self.plain_route(),
        }
    }

    fn drop_pending(&mut self, out: &mut Output) {
        out.drop(self.pending.len());
        self.pending.clear();
    }
}
