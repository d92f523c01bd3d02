//! `dynamo-parsers` v1, combined as in its server: the reasoning parser on each chunk, then the
//! jail on the stream of chunks.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use dynamo_parsers::jail::{Annotated, JailedStream};
use dynamo_parsers::{
    ParserResult, ReasoningParser, ReasoningParserType, ReasoningParserWrapper, ToolDefinition,
    detect_and_parse_tool_call,
};
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason,
};
use futures::stream::{Stream as Chunks, poll_fn};
use tokio::runtime::Runtime;

use super::{TOOL, harmony, parameters};
use crate::stream::{Delta, Sink, Start, Stream};

type Chunk = Annotated<CreateChatCompletionStreamResponse>;

pub(super) fn start(format: &str) -> Option<Start> {
    let (reasoning, tool) = match format {
        "qwen3" => ("qwen3", "hermes"),
        "qwen3-coder" => ("qwen3", "qwen3_coder"),
        "kimi-k2" => ("kimi_k25", "kimi_k2"),
        "harmony" if harmony::available() => ("gpt_oss", "harmony"),
        _ => return None,
    };
    if tool == "harmony" {
        load_vocabulary();
    }
    Some(Box::new(move |_| {
        let mut reasoning = ReasoningParserType::get_reasoning_parser_from_name(reasoning);
        // The parser assumes that Kimi's prompt opens the reasoning.
        if tool == "kimi_k2" {
            reasoning.set_in_reasoning(false);
        }
        let definition =
            ToolDefinition { name: TOOL.to_owned(), parameters: Some(parameters()), strict: None };
        let jail = JailedStream::builder().tool_call_parser(tool).tool_definitions(vec![definition]).build();
        let queue = Arc::new(Mutex::new(VecDeque::new()));
        let source = Arc::clone(&queue);
        let chunks = Box::pin(jail.apply_with_finish_reason(poll_fn(move |_| next(&source))));
        Some(Box::new(Dynamo { reasoning, queue, chunks }))
    }))
}

/// Makes the crate's first Harmony call, which loads the vocabulary on a thread of tokio's, so that
/// later calls don't wait.
fn load_vocabulary() {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads"));
    let call = "<|channel|>commentary to=functions.tool <|message|>{}<|call|>";
    let parsed = RUNTIME.block_on(detect_and_parse_tool_call(call, Some("harmony"), None));
    parsed.expect("the vocabulary");
}

struct Dynamo {
    reasoning: ReasoningParserWrapper,
    /// Chunks that the jail reads next; `None` ends its stream.
    queue: Arc<Mutex<VecDeque<Option<Chunk>>>>,
    chunks: Pin<Box<dyn Chunks<Item = Chunk> + Send>>,
}

fn next(queue: &Mutex<VecDeque<Option<Chunk>>>) -> Poll<Option<Chunk>> {
    queue.lock().expect("one thread").pop_front().map_or(Poll::Pending, Poll::Ready)
}

fn chunk(parsed: ParserResult, finish_reason: Option<FinishReason>) -> Chunk {
    let some = |text: String| (!text.is_empty()).then_some(text);
    let delta = ChatCompletionStreamResponseDelta {
        role: None,
        content: some(parsed.normal_text).map(ChatCompletionMessageContent::Text),
        tool_calls: None,
        function_call: None,
        refusal: None,
        reasoning_content: some(parsed.reasoning_text),
    };
    let response = CreateChatCompletionStreamResponse {
        id: String::new(),
        choices: vec![ChatChoiceStream { index: 0, delta, finish_reason, logprobs: None }],
        created: 0,
        model: String::new(),
        system_fingerprint: None,
        object: String::new(),
        usage: None,
        service_tier: None,
    };
    Annotated { data: Some(response), id: None, event: None, comment: None, error: None }
}

impl Dynamo {
    fn push(&mut self, chunk: Option<Chunk>, sink: &mut dyn Sink) {
        self.queue.lock().expect("one thread").push_back(chunk);
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(chunk)) = self.chunks.as_mut().poll_next(&mut context) {
            let choices = chunk.data.map(|data| data.choices).unwrap_or_default();
            for choice in choices {
                hand_on(choice.delta, sink);
            }
        }
    }
}

fn hand_on(delta: ChatCompletionStreamResponseDelta, sink: &mut dyn Sink) {
    if let Some(text) = delta.reasoning_content {
        sink.reasoning(&text);
    }
    if let Some(ChatCompletionMessageContent::Text(text)) = delta.content {
        sink.content(&text);
    }
    for call in delta.tool_calls.unwrap_or_default() {
        let (index, Some(function)) = (call.index as usize, call.function) else { continue };
        if let Some(name) = function.name {
            sink.call(index, &name);
        }
        sink.arguments(index, &function.arguments.unwrap_or_default());
    }
}

impl Stream for Dynamo {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        let parsed = self.reasoning.parse_reasoning_streaming_incremental(delta.text, &delta.tokens);
        self.push(Some(chunk(parsed, None)), sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let parsed = self.reasoning.finish_reasoning_stream();
        self.push(Some(chunk(parsed, None)), sink);
        self.push(Some(chunk(ParserResult::default(), Some(FinishReason::Stop))), sink);
        self.push(None, sink);
    }
}
