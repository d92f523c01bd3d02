//! Text that a model might have written, parsed as if it had.

use engine::{Finish, StepOutput, Token};
use serde_json::Value;

use super::line::{PromptLine, ToolLineOf};
use crate::answer_context::AnswerContext;
use crate::parsers::ParserBinding;
use crate::served::Served;

/// Text of a turn, and what its parser is told. The fields are those of a case.
#[derive(Debug, Clone, Default)]
pub struct RawOutput {
    /// What the model writes, markup included.
    pub raw: String,
    /// Declared tools: names, or objects of `name`, `kind` and `parameters`.
    pub tools: Vec<Value>,
    /// What the chat template opens the turn with.
    pub generation_prompt: String,
    /// Tokens of a step; 1 unless it is given.
    pub step: usize,
    /// Whether the token limit ends the turn (`length`), or the model.
    pub finish: String,
}

impl Served {
    /// Parses such a text by `parser`, in a context with a trace.
    ///
    /// # Errors
    /// The text can't be tokenised.
    pub(crate) fn trace_raw(
        &self,
        output: &RawOutput,
        parser: &ParserBinding,
        context: &AnswerContext,
    ) -> Result<(), String> {
        let ids = self.tokenizer.encode_with_added(&output.raw).map_err(|error| error.to_string())?;
        let ended_by = ids.last().copied().filter(|id| parser.stop_ids.contains(id));
        let ids = &ids[..ids.len() - usize::from(ended_by.is_some())];
        let step = |ids: &[u32]| StepOutput {
            tokens: ids.iter().map(|id| Token { id: *id, logprobs: None }).collect(),
            ..StepOutput::default()
        };
        let mut steps: Vec<StepOutput> = ids.chunks(output.step.max(1)).map(step).collect();
        let finish = match ended_by.or(parser.stop_ids.first().copied()) {
            Some(id) if output.finish != "length" => Finish::Stop(id),
            _ => Finish::Length,
        };
        steps.push(StepOutput { finish: Some(finish), ..StepOutput::default() });
        let prompt = PromptLine {
            opening: parser.pieces(&output.generation_prompt),
            tools: output.tools.iter().map(tool).collect(),
            ..PromptLine::default()
        };
        self.parse_steps(parser, &prompt, steps, context.clone());
        Ok(())
    }
}

fn tool(tool: &Value) -> ToolLineOf {
    let text = |key| tool.get(key).and_then(Value::as_str);
    let name = tool.as_str().or_else(|| text("name")).unwrap_or_default().to_owned();
    let any = || r#"{"type":"object"}"#.to_owned();
    let schema = tool.get("parameters").map_or_else(any, Value::to_string);
    ToolLineOf { name, custom: text("kind") == Some("custom"), schema }
}
