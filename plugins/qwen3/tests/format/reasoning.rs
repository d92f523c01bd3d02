//! Reasoning and prose: where the turn starts, what ends the reasoning, and what is never shown.

use crate::turns::{items, tools, turn};
use parser_sdk::FinishReason::{Length, Stop};
use parser_sdk::testing::Item;
use parser_sdk::{Parser, Trim};
use qwen3_parser::Qwen3;

#[test]
fn the_descriptor_names_models_markers_and_the_stop() {
    let descriptor = Qwen3::describe(&[]).unwrap();
    assert_eq!(descriptor.name, "qwen3");
    assert_eq!(descriptor.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(descriptor.models, ["qwen3", "qwen3_moe"]);
    assert_eq!(
        descriptor.stops.iter().map(|i| &descriptor.markers[*i as usize]).collect::<Vec<_>>(),
        ["<|im_end|>"]
    );
    assert_eq!(descriptor.trim, Trim { reasoning: true, content: true });
}

#[test]
fn the_model_thinks_by_itself() {
    let got = turn("<think>\nA greeting.\n</think>\n\nHello!<|im_end|>");
    assert_eq!(got, [Item::reasoning("A greeting."), Item::message("Hello!")]);
}

#[test]
fn a_prompt_that_opens_reasoning_is_where_the_output_begins() {
    let got = items(&tools(), "<|im_start|>assistant\n<think>\n", "A greeting.\n</think>\n\nHello!", Stop);
    assert_eq!(got, [Item::reasoning("A greeting."), Item::message("Hello!")]);
}

#[test]
fn a_lone_end_closes_the_reasoning_that_the_prompt_began() {
    let got = items(&tools(), "<think>\n", "Thinking-2507 writes no opening.</think>Right.", Stop);
    assert_eq!(got, [Item::reasoning("Thinking-2507 writes no opening."), Item::message("Right.")]);
}

#[test]
fn a_prompt_with_thinking_disabled_leaves_content_only() {
    let got = items(&tools(), "<|im_start|>assistant\n<think>\n\n</think>\n\n", "Hello!", Stop);
    assert_eq!(got, [Item::message("Hello!")]);
}

#[test]
fn without_thinking_everything_is_content() {
    assert_eq!(items(&tools(), "", "Hello!", Stop), [Item::message("Hello!")]);
}

#[test]
fn text_before_thinking_is_content() {
    let got = turn("Well… <think>Hm.</think> Yes.");
    assert_eq!(got, [Item::message("Well…"), Item::reasoning("Hm."), Item::message("Yes.")]);
}

#[test]
fn without_an_end_everything_is_reasoning() {
    let got = turn("<think>\nAnd on, and on.<|im_end|>");
    assert_eq!(got, [Item::reasoning("And on, and on.")]);
}

#[test]
fn reasoning_cut_off_is_incomplete() {
    let got = items(&tools(), "<think>\n", "And on, and", Length);
    assert_eq!(got, [Item::reasoning("And on, and").incomplete()]);
}

#[test]
fn reasoning_that_ended_is_complete_even_if_the_turn_is_cut_off_behind_it() {
    assert_eq!(items(&tools(), "<think>\n", "Done.</think>\n", Length), [Item::reasoning("Done.")]);
}

#[test]
fn a_second_end_of_thinking_is_dropped() {
    let got = turn("<think>Hm.</think>One</think> two.");
    assert_eq!(got, [Item::reasoning("Hm."), Item::message("One two.")]);
}

#[test]
fn a_second_opening_is_dropped() {
    let got = items(&tools(), "<think>\n", "<think>\nHm.</think>One.", Stop);
    assert_eq!(got, [Item::reasoning("Hm."), Item::message("One.")]);
}

#[test]
fn white_space_around_markup_is_not_shown_and_opens_nothing() {
    let got = turn("\n<think>\n\n Hm. \n</think>\n\n \n<|im_end|>");
    assert_eq!(got, [Item::reasoning("Hm.")]);
    assert_eq!(turn("<think>\n\n</think>\n\nHi\n"), [Item::message("Hi")]);
}

#[test]
fn white_space_inside_text_is_kept() {
    assert_eq!(turn("a\n\n  b\n c\n"), [Item::message("a\n\n  b\n c")]);
}

#[test]
fn turn_tokens_and_roles_are_never_shown() {
    let got = turn("One.<|im_end|>\n<|im_start|>assistant\nTwo.<|im_end|>");
    assert_eq!(got, [Item::message("One.\nTwo.")]);
}

#[test]
fn a_role_ends_at_the_next_marker_too() {
    assert_eq!(
        turn("<|im_start|>assistant<think>Hm.</think>Yes."),
        [Item::reasoning("Hm."), Item::message("Yes.")]
    );
}

#[test]
fn nothing_at_all_gives_no_item() {
    assert_eq!(turn(""), []);
    assert_eq!(turn("<|im_end|>"), []);
}
