//! The text between calls: markers say whether it is content or reasoning. It goes out up to the
//! next marker without the parser being called.

use crate::{LastOpening, Output, Route};

/// The present kind of prose: content (the default) or reasoning.
///
/// ```
/// use parser_kit::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request};
///
/// /// Reasoning begins with `Thought:`, which is a part of it, and ends at `Answer:`.
/// struct Thoughts(Prose);
///
/// impl Parser for Thoughts {
///     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
///         let markers = ["Thought:", "Answer:"].map(String::from).into();
///         Ok(Descriptor { name: "thoughts".into(), version: "0.1.0".into(), markers, ..Descriptor::default() })
///     }
///     fn start(_: &Request) -> Result<Self, String> {
///         Ok(Self(Prose::default()))
///     }
///     fn text(&mut self, _: &str, out: &mut Output) {
///         self.0.flow(out);
///     }
///     fn marker(&mut self, index: usize, out: &mut Output) {
///         if index == 1 {
///             return self.0.content(out);
///         }
///         self.0.turn_to_reasoning();
///         self.0.flow(out);
///     }
/// }
///
/// let items = play::<Thoughts>(&request(&[]), "", ["Thought: Hm.Answer:Hi."], FinishReason::Stop);
/// assert_eq!(items, [Item::reasoning("Thought: Hm."), Item::message("Hi.")]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prose {
    route: Route,
    opening: LastOpening,
}

impl Default for Prose {
    fn default() -> Self {
        Self { route: Route::Content, opening: LastOpening::None }
    }
}

impl Prose {
    /// Routes all held bytes as prose, and all text up to the next marker.
    pub fn flow(self, out: &mut Output) {
        out.until_marker(self.route);
    }

    /// Routes all held bytes but the `keep` youngest as prose.
    pub fn release(self, keep: usize, out: &mut Output) {
        out.take(self.route, out.held() - keep);
    }

    /// Where prose goes at present.
    pub fn route(self) -> Route {
        self.route
    }

    /// Drops all held bytes as markup; prose of the same kind follows.
    pub fn drop_markup(self, out: &mut Output) {
        out.drop_all();
        self.flow(out);
    }

    /// A call began: the ends of calls that stand behind it are markup.
    pub fn called(&mut self) {
        self.opening = LastOpening::Call;
    }

    /// Routes all held bytes but the `keep` youngest as prose: the opening of a call that is only
    /// mentioned. So are the ends of calls behind it.
    pub fn mention(&mut self, keep: usize, out: &mut Output) {
        self.opening = LastOpening::Prose;
        self.release(keep, out);
    }

    /// Routes all held bytes, which end calls with the marker `end` where none is open: they are markup
    /// or prose ([`LastOpening`]).
    pub fn end_of_call(self, end: &str, out: &mut Output) {
        if self.drops(end) { self.drop_markup(out) } else { self.flow(out) }
    }

    /// Whether the marker `end` is markup where no call is open.
    pub fn drops(self, end: &str) -> bool {
        self.opening.drops(end)
    }

    /// Drops all held bytes as markup; reasoning follows.
    pub fn reasoning(&mut self, out: &mut Output) {
        self.route = Route::Reasoning;
        self.drop_markup(out);
    }

    /// Drops all held bytes as markup; content follows. Closes reasoning, if that is the present
    /// kind.
    pub fn content(&mut self, out: &mut Output) {
        self.undecided_content(out);
        self.flow(out);
    }

    /// The same, where the content's beginning is for the parser to decide: the host asks about it
    /// ([`Self::flow`] ends that).
    pub fn undecided_content(&mut self, out: &mut Output) {
        out.drop_all();
        if self.route == Route::Reasoning {
            out.close();
        }
        self.turn_to_content();
    }

    /// Reasoning follows, the held bytes among it: a format that opens reasoning without markup, or
    /// with markup that stays in it.
    pub fn turn_to_reasoning(&mut self) {
        self.route = Route::Reasoning;
    }

    /// Content follows. For use after an op that closed the open item itself, such as a tool call.
    pub fn turn_to_content(&mut self) {
        self.route = Route::Content;
    }
}
