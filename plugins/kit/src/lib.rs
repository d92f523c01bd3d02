//! Plays turns to a parser natively, for an author's tests: the markers, the held bytes, the items
//! and the end are those of the server, whose [`turn`] this is. What `host parser test` checks in
//! the sandbox is checked here without one.
//!
//! It panics, saying what was wrong, where a server would call a fault: bytes routed that aren't
//! held, a cut inside a character, arguments without a call, a name that stands nowhere.
//!
//! ```
//! # use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, Route};
//! # struct Plain;
//! # impl Parser for Plain {
//! #     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> { Ok(Descriptor::default()) }
//! #     fn start(_: &Request) -> Result<Self, String> { Ok(Self) }
//! #     fn text(&mut self, _: &str, out: &mut Output) { out.until_marker(Route::Content); }
//! #     fn marker(&mut self, _: usize, out: &mut Output) { out.drop_all(); }
//! # }
//! use parser_kit::{Item, Player, request};
//!
//! let mut turn = Player::<Plain>::start(&request(&["get_weather"]));
//! turn.feed("Hello, ");
//! turn.feed("world");
//! assert_eq!(turn.finish(FinishReason::Stop), [Item::message("Hello, world")]);
//! ```

mod broken_off;
pub mod case;
mod check;
mod cut;
mod explore;
mod items;
mod lost_quote;
pub mod nothing_lost;
mod parameters;
mod player;
mod scan;
mod streams;
mod written;

pub use broken_off::{check_broken_off, is_left_over};
pub use check::{check_cases, check_cases_with};
pub use cut::{Script, agree, cut};
pub use items::{Head, Item};
pub use lost_quote::{LostQuote, lost_quotes};
pub use parameters::{ParameterFormat, VALUES, typed_request};
pub use player::{Player, play};
pub use scan::{Member, check_scan, scanned_members};
pub use streams::{Drawn, Streams};
pub use written::{
    check_asked_once, check_input_flows, check_long_arguments, check_string_parameters, check_turns,
    check_turns_between, is_held, steps,
};

pub use turn::Phase;

use contract::{Request, Tool, ToolKind};
use turn::values;

/// The option with which a host lets calls inside reasoning count at once.
const AT_ONCE: [&str; 2] = ["calls-in-reasoning", "at-once"];

/// A request that declares functions of these names.
pub fn request(tools: &[&str]) -> Request {
    with_tools(tools.iter().map(|name| function(name, case::ANY_OBJECT)))
}

/// [`request`] with the custom tool `custom` behind the functions.
pub fn request_with_custom(functions: &[&str], custom: &str) -> Request {
    let functions = functions.iter().map(|name| function(name, case::ANY_OBJECT));
    with_tools(functions.chain([custom_tool(custom)]))
}

/// A request that declares these tools.
pub fn with_tools(tools: impl IntoIterator<Item = Tool>) -> Request {
    Request { tools: tools.into_iter().collect(), ..Request::default() }
}

/// A custom tool.
pub fn custom_tool(name: &str) -> Tool {
    values::tool(name, ToolKind::Custom, "")
}

/// A function whose arguments have this JSON schema.
pub fn function(name: &str, schema: &str) -> Tool {
    values::tool(name, ToolKind::Function, schema)
}
