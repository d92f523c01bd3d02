//! The format kimi-k3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
    ],
    writing: Writing {
        prompt: "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
        answer: ["", "<|close|>response<|sep|>"],
        call: Call::Typed(
            [
                "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>",
                "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
            ],
            [
                "<|open|>argument key=\"",
                "\" type=\"string\"<|sep|>",
                "\" type=\"object\"<|sep|>",
                "<|close|>argument<|sep|>",
            ],
        ),
    },
    grammar: GrammarTraits {
        tokens: &[15],
        inner: &["<|open|>", "<|close|>", "<|sep|>"],
        ..GrammarTraits::USUAL
    },
    deltas: Deltas {
        spelt: &[
            "<|open|>tools<|sep|>",
            "<|close|>tools<|sep|>",
            "<|open|>call tool=",
            "<|close|>call<|sep|>",
            "<|open|>argument key=",
            "<|close|>argument<|sep|>",
        ],
        prose: ["", ""],
        call: [
            "<|open|>·tools·<|sep|>·<|open|>·call· tool·=\"tool·\" index·=\"1\"·<|sep|>·<|open|>·argument· key·=\"x\"· type·=\"string\"·<|sep|>",
            "<|close|>·argument·<|sep|>·<|close|>·call·<|sep|>·<|close|>·tools·<|sep|>",
        ],
        between: "\n",
    },
    asked: 10,
    openings: &[],
    turns: &[CallingTurn {
        model_type: "kimi_k3",
        opening: "<|open|>message role=\"assistant\"<|sep|>",
        written: "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"q_z\" index=\"1\"<|sep|>\
         <|open|>argument key=\"q\" type=\"string\"<|sep|>z w<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>\
         <|close|>message<|sep|><|end_of_msg|>",
    }],
};
