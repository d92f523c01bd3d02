//! Leaf builders: plain values in, one typed event out, each with every field of its type but `sequence_number`,
//! which [`Sequence`] sets, and nothing else does. Texts are borrowed: an event lives until it is encoded.

use serde::Serialize;

use super::super::frames::Frames;
use super::items::Item;
use super::resource::Resource;

/// An event without its number.
#[derive(Debug)]
pub(super) struct Event<B> {
    kind: &'static str,
    body: B,
}

/// The numbers of one stream.
#[derive(Debug, Default)]
pub(super) struct Sequence(u64);

#[derive(Serialize)]
struct Numbered<'a, B> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    body: &'a B,
}

impl Sequence {
    /// Encodes the event under the next number.
    #[expect(clippy::needless_pass_by_value, reason = "an event is sent once")]
    pub(super) fn send<B: Serialize>(&mut self, event: Event<B>, frames: &mut Frames) {
        let numbered = Numbered { kind: event.kind, sequence_number: self.0, body: &event.body };
        frames.push(Some(event.kind), &numbered);
        self.0 += 1;
    }
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct At<'a> {
    /// Id of the item.
    pub(super) item_id: &'a str,
    /// Its place in the output.
    pub(super) output_index: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Lifecycle<'a> {
    response: &'a Resource,
}

/// The response as a whole: `kind` is `response.created`, `response.in_progress` or a terminal one.
pub(super) fn response<'a>(kind: &'static str, response: &'a Resource) -> Event<Lifecycle<'a>> {
    Event { kind, body: Lifecycle { response } }
}

#[derive(Debug, Serialize)]
pub(super) struct Error<'a> {
    code: &'a str,
    message: &'a str,
    param: Option<&'a str>,
}

/// `error`; `response.failed` must follow.
pub(super) fn error<'a>(code: &'a str, message: &'a str) -> Event<Error<'a>> {
    Event { kind: "error", body: Error { code, message, param: None } }
}

#[derive(Debug, Serialize)]
pub(super) struct OutputItem<'a> {
    output_index: usize,
    item: &'a Item,
}

/// `response.output_item.added`.
pub(super) fn item_added(output_index: usize, item: &Item) -> Event<OutputItem<'_>> {
    Event { kind: "response.output_item.added", body: OutputItem { output_index, item } }
}

/// `response.output_item.done`.
pub(super) fn item_done(output_index: usize, item: &Item) -> Event<OutputItem<'_>> {
    Event { kind: "response.output_item.done", body: OutputItem { output_index, item } }
}

#[derive(Debug, Serialize)]
pub(super) struct ContentPart<'a, P> {
    #[serde(flatten)]
    at: At<'a>,
    content_index: usize,
    part: &'a P,
}

/// `response.content_part.added`.
pub(super) fn part_added<'a, P>(at: At<'a>, content_index: usize, part: &'a P) -> Event<ContentPart<'a, P>> {
    Event { kind: "response.content_part.added", body: ContentPart { at, content_index, part } }
}

/// `response.content_part.done`.
pub(super) fn part_done<'a, P>(at: At<'a>, content_index: usize, part: &'a P) -> Event<ContentPart<'a, P>> {
    Event { kind: "response.content_part.done", body: ContentPart { at, content_index, part } }
}

#[derive(Debug, Serialize)]
pub(super) struct OutputTextDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    delta: &'a str,
    logprobs: [(); 0],
}

/// `response.output_text.delta`.
pub(super) fn text_delta<'a>(at: At<'a>, content_index: usize, delta: &'a str) -> Event<OutputTextDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = OutputTextDelta { item_id, output_index, content_index, delta, logprobs: [] };
    Event { kind: "response.output_text.delta", body }
}

#[derive(Debug, Serialize)]
pub(super) struct OutputTextDone<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    text: &'a str,
    logprobs: [(); 0],
}

/// `response.output_text.done`.
pub(super) fn text_done<'a>(at: At<'a>, content_index: usize, text: &'a str) -> Event<OutputTextDone<'a>> {
    let At { item_id, output_index } = at;
    let body = OutputTextDone { item_id, output_index, content_index, text, logprobs: [] };
    Event { kind: "response.output_text.done", body }
}

#[derive(Debug, Serialize)]
pub(super) struct ReasoningDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    delta: &'a str,
}

/// `response.reasoning_text.delta`.
pub(super) fn reasoning_delta<'a>(
    at: At<'a>,
    content_index: usize,
    delta: &'a str,
) -> Event<ReasoningDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = ReasoningDelta { item_id, output_index, content_index, delta };
    Event { kind: "response.reasoning_text.delta", body }
}

#[derive(Debug, Serialize)]
pub(super) struct ReasoningDone<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    text: &'a str,
}

/// `response.reasoning_text.done`.
pub(super) fn reasoning_done<'a>(
    at: At<'a>,
    content_index: usize,
    text: &'a str,
) -> Event<ReasoningDone<'a>> {
    let At { item_id, output_index } = at;
    let body = ReasoningDone { item_id, output_index, content_index, text };
    Event { kind: "response.reasoning_text.done", body }
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryPart<'a, P> {
    #[serde(flatten)]
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
}

/// `response.reasoning_summary_part.added`.
pub(super) fn summary_added<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.added", body: SummaryPart { at, summary_index, part } }
}

/// `response.reasoning_summary_part.done`.
pub(super) fn summary_done<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.done", body: SummaryPart { at, summary_index, part } }
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    summary_index: usize,
    delta: &'a str,
}

/// `response.reasoning_summary_text.delta`.
pub(super) fn summary_text_delta<'a>(
    at: At<'a>,
    summary_index: usize,
    delta: &'a str,
) -> Event<SummaryDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = SummaryDelta { item_id, output_index, summary_index, delta };
    Event { kind: "response.reasoning_summary_text.delta", body }
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryDone<'a> {
    item_id: &'a str,
    output_index: usize,
    summary_index: usize,
    text: &'a str,
}

/// `response.reasoning_summary_text.done`.
pub(super) fn summary_text_done<'a>(
    at: At<'a>,
    summary_index: usize,
    text: &'a str,
) -> Event<SummaryDone<'a>> {
    let At { item_id, output_index } = at;
    let body = SummaryDone { item_id, output_index, summary_index, text };
    Event { kind: "response.reasoning_summary_text.done", body }
}

#[derive(Debug, Serialize)]
pub(super) struct CallDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    delta: &'a str,
}

/// `response.function_call_arguments.delta`.
pub(super) fn arguments_delta<'a>(at: At<'a>, delta: &'a str) -> Event<CallDelta<'a>> {
    let At { item_id, output_index } = at;
    Event { kind: "response.function_call_arguments.delta", body: CallDelta { item_id, output_index, delta } }
}

/// `response.custom_tool_call_input.delta`.
pub(super) fn input_delta<'a>(at: At<'a>, delta: &'a str) -> Event<CallDelta<'a>> {
    let At { item_id, output_index } = at;
    Event { kind: "response.custom_tool_call_input.delta", body: CallDelta { item_id, output_index, delta } }
}

#[derive(Debug, Serialize)]
pub(super) struct ArgumentsDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    name: &'a str,
    arguments: &'a str,
}

/// `response.function_call_arguments.done`.
pub(super) fn arguments_done<'a>(at: At<'a>, name: &'a str, arguments: &'a str) -> Event<ArgumentsDone<'a>> {
    Event { kind: "response.function_call_arguments.done", body: ArgumentsDone { at, name, arguments } }
}

#[derive(Debug, Serialize)]
pub(super) struct InputDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    input: &'a str,
}

/// `response.custom_tool_call_input.done`.
pub(super) fn input_done<'a>(at: At<'a>, input: &'a str) -> Event<InputDone<'a>> {
    Event { kind: "response.custom_tool_call_input.done", body: InputDone { at, input } }
}
