//! Helpers that play a turn in several cuts, which must all give the same items.

use parser_kit::{Item, agree, request_with_custom};
use parser_sdk::{FinishReason, Request};
use qwen3_parser::Qwen3;

/// Plays a turn in several cuts and returns the items, which must be the same for each cut.
pub(crate) fn items(request: &Request, prompt: &str, output: &str, reason: FinishReason) -> Vec<Item> {
    agree::<Qwen3>(request, prompt, output, &[2, 11, 1], reason)
}

/// The items of a turn that the model ended itself, with the tools of [`tools`] declared.
pub(crate) fn turn(output: &str) -> Vec<Item> {
    items(&tools(), "<|im_start|>assistant\n", output, FinishReason::Stop)
}

/// A request with two functions and a custom tool.
pub(crate) fn tools() -> Request {
    request_with_custom(&["get_weather", "add"], "apply_patch")
}
