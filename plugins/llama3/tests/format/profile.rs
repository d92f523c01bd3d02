//! The format llama3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|start_header_id|>assistant<|end_header_id|>\n\n"],
    writing: Writing {
        prompt: "<|start_header_id|>assistant<|end_header_id|>\n\n",
        answer: ["", ""],
        call: Call::Json(["{\"name\": \"f\", \"parameters\": ", "}"]),
    },
    grammar: GrammarTraits { tokens: &[0, 3, 4, 5, 6, 7], ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &["<function=", "</function>"],
        prose: ["", ""],
        call: ["<|python_tag|>·{\"·name·\":· \"tool·\",· \"parameters·\":· {\"x\":· \"", "\"}·}"],
        between: "",
    },
    asked: 8,
    openings: &[Opening {
        pieces: &["<|start_header_id|>", "assistant", "<|end_header_id|>", "\n\n"],
        next: Next::Message,
        is_at_beginning: true,
    }],
    turns: &[CallingTurn {
        model_type: "mllama",
        opening: "<|start_header_id|>assistant<|end_header_id|>\n\n",
        written: "{\"name\": \"q_z\", \"parameters\": {\"q\": \"z w\"}}",
    }],
};
