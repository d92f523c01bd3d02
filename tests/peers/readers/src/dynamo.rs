//! `dynamo-parsers` v1, combined as in its server: the reasoning parser on each chunk, then the jail on the stream of chunks. A whole turn
//! is the sum of its stream, whose text is parsed once more if no call was found.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use dynamo_parsers::jail::{Annotated, JailedStream};
use dynamo_parsers::parsers::get_available_tool_parsers;
use dynamo_parsers::{
    ParserResult, ReasoningParser, ReasoningParserType, ReasoningParserWrapper, ToolCallResponse,
    ToolDefinition, detect_and_parse_tool_call, try_tool_call_parse_aggregate_finalize,
};
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason,
};
use futures::stream::{Stream as Chunks, poll_fn};
use tokio::runtime::Runtime;

use crate::{Delta, Names, Opening, Record, Request, Sink, Stream, harmony};

type Chunk = Annotated<CreateChatCompletionStreamResponse>;

/// Starts a stream through both parsers, or one of them.
pub(crate) fn start(names: &Names, request: &Request) -> Option<Box<dyn Stream>> {
    if harmony::is_harmony(names) {
        harmony::available().then(load_vocabulary)?;
    }
    let known = |name: &str| get_available_tool_parsers().contains(&name);
    let tool = names.calls.clone().filter(|name| known(name))?;
    let definition = |tool: &crate::Tool| ToolDefinition {
        name: tool.name.clone(),
        parameters: Some(tool.parameters.clone()),
        strict: None,
    };
    let tools: Vec<ToolDefinition> = request.tools.iter().map(definition).collect();
    let jail = JailedStream::builder().tool_call_parser(tool.clone()).tool_definitions(tools).build();
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    let source = Arc::clone(&queue);
    let chunks = Box::pin(jail.apply_with_finish_reason(poll_fn(move |_| next(&source))));
    Some(Box::new(Dynamo { reasoning: reasoning(names, request), tool, queue, chunks }))
}

/// Parsers of reasoning that the server leaves out where the client switched thinking off.
const SWITCHED: [&str; 10] = [
    "deepseek_r1",
    "deepseek_v3",
    "deepseek_v3_1",
    "deepseek_v3_2",
    "deepseek_v4",
    "gemma4",
    "kimi_k25",
    "nemotron_nano",
    "nemotron3",
    "nemotron_v3",
];

fn reasoning(names: &Names, request: &Request) -> Option<ReasoningParserWrapper> {
    let name = names.reasoning.as_deref()?;
    if request.opening == Opening::Nothing && !request.thinks && SWITCHED.contains(&name) {
        return None;
    }
    let mut parser = ReasoningParserType::get_reasoning_parser_from_name(name);
    match request.opening {
        Opening::Nothing => {}
        Opening::Reasoning => parser.set_in_reasoning(true),
        Opening::Answer => parser.set_in_reasoning(false),
    }
    Some(parser)
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads"));

/// Makes the crate's first Harmony call, which loads the vocabulary on a thread of tokio's, so that later calls don't wait.
fn load_vocabulary() {
    let call = "<|channel|>commentary to=functions.tool <|message|>{}<|call|>";
    let parsed = RUNTIME.block_on(detect_and_parse_tool_call(call, Some("harmony"), None));
    parsed.expect("the vocabulary");
}

struct Dynamo {
    reasoning: Option<ReasoningParserWrapper>,
    tool: String,
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

/// A text that is no reasoning.
fn normal(text: &str) -> ParserResult {
    ParserResult { normal_text: text.to_owned(), reasoning_text: String::new() }
}

impl Stream for Dynamo {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        let parsed = match &mut self.reasoning {
            Some(parser) => parser.parse_reasoning_streaming_incremental(delta.text, &delta.tokens),
            None => normal(delta.text),
        };
        self.push(Some(chunk(parsed, None)), sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let parsed =
            self.reasoning.as_mut().map(ReasoningParser::finish_reasoning_stream).unwrap_or_default();
        self.push(Some(chunk(parsed, None)), sink);
        self.push(Some(chunk(ParserResult::default(), Some(FinishReason::Stop))), sink);
        self.push(None, sink);
    }

    fn whole(&mut self, deltas: &[Delta<'_>], sink: &mut dyn Sink) {
        let mut record = Record::default();
        for delta in deltas {
            self.feed(delta, &mut record);
        }
        self.finish(&mut record);
        if record.calls.is_empty() {
            let found = try_tool_call_parse_aggregate_finalize(&record.content, Some(&self.tool), None);
            if let Ok((calls, text)) = RUNTIME.block_on(found)
                && !calls.is_empty()
            {
                record.content = text.unwrap_or_default();
                let call = |call: ToolCallResponse| (call.function.name, call.function.arguments);
                record.calls = calls.into_iter().map(call).collect();
            }
        }
        record.replay(sink);
    }
}
