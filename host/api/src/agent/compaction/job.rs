//! The job of a summary.

use grammar::{Demand, ToolChoice};
use model::{Beginning, Job, SamplingRequest, Truncation};
use prompt::{ChatMessage, Role};

/// The prompt for summaries, unless the operator has another one.
pub const DEFAULT_PROMPT: &str = include_str!("prompt.txt");

/// The job that asks for a summary of the conversation of `job` by `prompt`. It may call no tools,
/// and nothing that shapes the answer of `job` shapes the summary. If the conversation leaves no
/// room for a summary, the oldest messages aren't part of it.
pub(crate) fn summary_job(mut job: Job, prompt: &str) -> Job {
    job.conversation.tools.clear();
    job.conversation.messages.push(ChatMessage::text(Role::User, prompt));
    let SamplingRequest { temperature, top_p, top_k, min_p, seed, .. } = job.sampling;
    Job {
        beginning: Beginning::Answer,
        demand: Demand {
            tool_choice: ToolChoice::None,
            parallel_tool_calls: job.demand.parallel_tool_calls,
            ..Demand::default()
        },
        sampling: SamplingRequest { temperature, top_p, top_k, min_p, seed, ..SamplingRequest::default() },
        logprobs: None,
        echo: false,
        truncation: Truncation::BeforeLast,
        raw: false,
        stop: Vec::new(),
        ..job
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_PROMPT, summary_job};
    use contract::ToolKind;
    use grammar::{Demand, TextGrammar, ToolChoice, ToolDefinition};
    use model::{Job, SamplingRequest, Truncation};
    use prompt::{ChatMessage, Conversation, Role, ToolDeclaration};

    #[test]
    fn what_shapes_the_answer_does_not_shape_the_summary() {
        let tool = ToolDefinition {
            name: "look".to_owned(),
            kind: ToolKind::Function,
            schema: "{}".to_owned(),
            strict: true,
            grammar: None,
        };
        let declaration = ToolDeclaration { name: "look".to_owned(), declaration: "{}".to_owned() };
        let messages = vec![ChatMessage::text(Role::User, "Hi.")];
        let grammar = TextGrammar { syntax: "regex".to_owned(), definition: "a".to_owned() };
        let job = Job {
            conversation: Conversation { messages: messages.clone(), tools: vec![declaration] },
            demand: Demand {
                tools: vec![tool],
                tool_choice: ToolChoice::Required,
                parallel_tool_calls: true,
                response_schema: Some("{}".to_owned()),
                response_grammar: Some(grammar),
                ..Demand::default()
            },
            sampling: SamplingRequest {
                temperature: Some(0.0),
                min_tokens: 9,
                ignore_eos: true,
                ..SamplingRequest::default()
            },
            logprobs: Some(2),
            stop: vec!["x".to_owned()],
            max_output_tokens: Some(7),
            cache_key: Some("key".to_owned()),
            ..Job::default()
        };
        let asked = ChatMessage::text(Role::User, DEFAULT_PROMPT);
        let expected = Job {
            conversation: Conversation { messages: [messages, vec![asked]].concat(), tools: Vec::new() },
            demand: Demand { tool_choice: ToolChoice::None, parallel_tool_calls: true, ..Demand::default() },
            sampling: SamplingRequest { temperature: Some(0.0), ..SamplingRequest::default() },
            max_output_tokens: Some(7),
            cache_key: Some("key".to_owned()),
            truncation: Truncation::BeforeLast,
            ..Job::default()
        };
        assert_eq!(summary_job(job, DEFAULT_PROMPT), expected);
    }
}
