//! Events of what the model writes, a row each. Their bodies are flat, since deltas are sent once per
//! token and `#[serde(flatten)]` costs a map each.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event, EventTypes};
use crate::responses::items::TokenLogprob;
use crate::schema::padded;

/// Any value of a field: a schema is that of its type.
fn any<T: Default>(_field: &str) -> T {
    T::default()
}

/// A builder for each event, and a collector of all: type, name, what the event has behind the place
/// of its item, and attributes of its schema.
macro_rules! events {
    (<$life:lifetime> $($kind:literal $event:ident($($field:ident: $type:ty),*) $(#[$attribute:meta])?;)+) => {
        $(
            #[doc = concat!("`", $kind, "`.")]
            pub(in crate::responses) fn $event<$life>(
                at: At<$life>,
                $($field: $type),*
            ) -> Event<impl JsonSchema + Serialize + $life> {
                #[derive(JsonSchema, Serialize)]
                $(#[$attribute])?
                struct Body<$life> {
                    item_id: &$life str,
                    output_index: usize,
                    $($field: $type),*
                }
                let At { item_id, output_index } = at;
                Event { kind: $kind, body: Body { item_id, output_index, $($field),* } }
            }
        )+

        /// Adds all events of this table.
        pub(in crate::responses) fn add_all(all: &mut impl EventTypes) {
            $(all.add(&$event(At::default(), $(any(stringify!($field))),*));)+
        }
    };
}

events! { <'a>
    // Log-probabilities are of the tokens that begin in the delta, or of all; empty where not asked for.
    "response.output_text.delta" text_delta(content_index: usize, delta: &'a str, logprobs: &'a [TokenLogprob]) #[schemars(transform = padded)];
    "response.output_text.done" text_done(content_index: usize, text: &'a str, logprobs: &'a [TokenLogprob]);
    "response.reasoning_text.delta" reasoning_delta(content_index: usize, delta: &'a str) #[schemars(transform = padded)];
    "response.reasoning_text.done" reasoning_done(content_index: usize, text: &'a str);
    "response.reasoning_summary_text.delta" summary_text_delta(summary_index: usize, delta: &'a str) #[schemars(transform = padded)];
    "response.reasoning_summary_text.done" summary_text_done(summary_index: usize, text: &'a str);
    "response.function_call_arguments.delta" arguments_delta(delta: &'a str) #[schemars(transform = padded)];
    "response.function_call_arguments.done" arguments_done(name: &'a str, arguments: &'a str);
    "response.custom_tool_call_input.delta" input_delta(delta: &'a str) #[schemars(transform = padded)];
    "response.custom_tool_call_input.done" input_done(input: &'a str);
    // A summary has grown. The event has none of the text.
    "response.compaction.compacting" compacting();
    "response.mcp_call_arguments.delta" mcp_arguments_delta(delta: &'a str);
    "response.mcp_call_arguments.done" mcp_arguments_done(arguments: &'a str);
    "response.code_interpreter_call_code.delta" code_delta(delta: &'a str);
    "response.code_interpreter_call_code.done" code_done(code: &'a str);
}
