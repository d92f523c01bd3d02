//! Prose and the calls in it, of a format whose calls are written as elements. A parser finds the
//! header of a call and hands the rest to [`Calls`].
//!
//! Invariant: while a call is open, all text is the call's; otherwise what isn't a header goes out
//! as prose.

use super::{ArgumentsWriter, CallMark, CallProgress, CallReader, Style};

use crate::{FinishReason, Output, Prose, Request, Tools};

/// The tools of a stream, the call that is open, if one is, and the prose around calls.
///
/// ```
/// use parser_kit::{Item, play, request};
/// use parser_sdk::params::{CallMark, Calls, Style, Tag, Tagged};
/// use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request};
///
/// /// `[call NAME>[set "KEY">VALUE[end][done]`, without a block around calls.
/// struct Lone {
///     calls: Calls,
///     tag: Tag,
///     in_tag: bool,
/// }
///
/// impl Parser for Lone {
///     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
///         let markers = ["[call ", "[set ", "[end]", "[done]"].map(String::from).into();
///         Ok(Descriptor { name: "lone".into(), version: "0.1.0".into(), markers, ..Descriptor::default() })
///     }
///     fn start(request: &Request) -> Result<Self, String> {
///         let (calls, tag) = (Calls::new(request, Style::Quoted), Tag::of(Style::Quoted));
///         Ok(Self { calls, tag, in_tag: false })
///     }
///     fn text(&mut self, chunk: &str, out: &mut Output) {
///         if !self.in_tag {
///             return self.calls.text(chunk, out);
///         }
///         let tools = &self.calls.tools;
///         let fits = |name: &str, is_whole| if is_whole { tools.accepts(name) } else { tools.may_begin(name) };
///         match self.tag.read(chunk, fits) {
///             Tagged::Unfinished => {}
///             Tagged::Nothing => {
///                 self.in_tag = false;
///                 self.calls.prose.release(0, out);
///             }
///             Tagged::Whole(read) => {
///                 self.in_tag = false;
///                 self.calls.open(self.tag.name(), chunk.len() - read, out);
///                 if read < chunk.len() {
///                     self.calls.text(&chunk[read..], out);
///                 }
///             }
///         }
///     }
///     fn marker(&mut self, index: usize, out: &mut Output) {
///         let literal = ["[call ", "[set ", "[end]", "[done]"][index];
///         if self.in_tag {
///             self.in_tag = false;
///             self.calls.prose.release(literal.len(), out);
///         }
///         let mark = [CallMark::Call, CallMark::Key, CallMark::ValueEnd, CallMark::End][index];
///         if self.calls.mark(mark, literal, out) {
///             return;
///         }
///         if mark == CallMark::Call && !self.calls.tools.is_empty() {
///             self.tag.begin();
///             self.in_tag = true;
///         } else {
///             self.calls.prose.flow(out);
///         }
///     }
///     fn finish(&mut self, reason: FinishReason, out: &mut Output) {
///         if self.in_tag {
///             return out.broken_call(0);
///         }
///         self.calls.finish(reason, out);
///     }
/// }
///
/// let output = ["Sure.[call add>[set \"word\">one[end][done] And [call, or not."];
/// let items = play::<Lone>(&request(&["add"]), "", output, FinishReason::Stop);
/// let call = Item::call("add", "{\"word\": \"one\"}");
/// assert_eq!(items, [Item::message("Sure."), call, Item::message(" And [call, or not.")]);
/// ```
#[derive(Debug)]
pub struct Calls {
    /// The tools that may be called.
    pub tools: Tools,
    /// The prose around calls.
    pub prose: Prose,
    style: Style,
    open: Option<CallReader>,
    /// Whether the next text is the role behind a turn's marker.
    in_role: bool,
}

impl Calls {
    /// Reader of one stream of a format that spells parameters in this style.
    pub fn new(request: &Request, style: Style) -> Self {
        let (tools, prose) = (Tools::callable(request), Prose::default());
        Self { tools, prose, style, open: None, in_role: false }
    }

    /// Reads text that isn't part of a call's header.
    pub fn text(&mut self, text: &str, out: &mut Output) {
        match &mut self.open {
            Some(call) => match call.text(text, out) {
                Some(rest) => {
                    self.follow(rest.len(), out);
                    self.text(rest, out);
                }
                None => call.look_ahead(out),
            },
            None if self.in_role => {
                self.in_role = out.drop_role(text.as_bytes()).is_none();
                if !self.in_role && out.held() > 0 {
                    self.prose.flow(out);
                }
            }
            None => self.prose.flow(out),
        }
    }

    /// Drops the held marker that begins a turn. The word behind the marker, the turn's role, is
    /// dropped as well; content follows.
    pub fn begin_turn(&mut self, out: &mut Output) {
        out.drop_all();
        self.prose.turn_to_content();
        self.in_role = true;
    }

    /// Reads a marker, whose `literal` is the youngest held text. Returns whether the marker is
    /// dealt with; outside calls it never is.
    pub fn mark(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> bool {
        if std::mem::take(&mut self.in_role) {
            out.drop(out.held() - literal.len());
        }
        let Some(call) = &mut self.open else { return false };
        let progress = call.mark(mark, literal, out);
        if progress == CallProgress::Followed {
            self.follow(literal.len(), out);
            return self.mark(mark, literal, out);
        }
        match progress {
            CallProgress::Inside => call.look_ahead(out),
            _ => self.open = None,
        }
        if progress == CallProgress::Closed {
            self.prose.drop_markup(out);
        }
        progress != CallProgress::Left
    }

    /// Writer of the arguments of a call of `name`.
    pub fn arguments(&self, name: &str) -> ArgumentsWriter {
        ArgumentsWriter::new(&self.tools, name)
    }

    /// Opens a call, behind whose header the `keep` youngest bytes are held. Prose goes on behind
    /// the call as it was before.
    pub fn open(&mut self, name: &str, keep: usize, out: &mut Output) -> &mut CallReader {
        let arguments = self.arguments(name);
        out.drop(out.held() - keep);
        out.tool_call(name, self.tools.payload(name));
        self.prose.called();
        self.open.insert(CallReader::new(self.style, arguments))
    }

    /// Leaves the rest of the open call to the parser, which routes its arguments and closes it.
    pub(super) fn hand_over(&mut self) {
        self.open = None;
    }

    /// Opens the call whose header the open call, now closed, has read. The `keep` youngest held
    /// bytes are behind the header.
    fn follow(&mut self, keep: usize, out: &mut Output) {
        if let Some(call) = self.open.take() {
            let name = self.tools.resolve(call.next_name()).to_owned();
            self.open(&name, keep, out);
        }
    }

    /// Ends the stream.
    pub fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match &mut self.open {
            Some(call) => call.finish(reason, out),
            None if self.in_role => out.drop_all(),
            None => self.prose.release(0, out),
        }
    }
}
