//! The format hunyuan, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|extra_0|>",
        "<|extra_0|><think>\n\n</think>\n",
        "<|extra_0|><think>\n\n</think>\n<answer>\n",
    ],
    writing: Writing {
        prompt: "<|extra_0|><think>\n\n</think>\n",
        answer: ["", ""],
        call: Call::Json([
            "<answer>\n<tool_calls>[{\"name\": \"f\", \"arguments\": ",
            "}]</tool_calls>\n</answer>",
        ]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "<tool_calls>·\n[{\"·name·\":· \"tool·\",· \"arguments·\":· {\"x\":· \"",
            "\"}·}]\n·</tool_calls>",
        ],
        between: "\n",
    },
    asked: 6,
    openings: &[],
    turns: &[CallingTurn {
        model_type: "hunyuan_v1_moe",
        opening: "<|extra_0|>",
        written: "<think>\n\n</think>\n<answer>\n<tool_calls>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]</tool_calls>\n</answer><|eos|>",
    }],
};
