//! Tests that the grammar of a request allows what the request demands: texts of random walks
//! through the grammar are parsed by the same parser, and the calls are checked against the request
//! by an independent JSON schema validator.

mod composed;
mod hostile;
mod inputs;
mod masks;
mod notations;
mod oracle;
mod play;
mod requests;
mod schemas;
mod tables;

use grammar::{Demand, ToolChoice};
use oracle::{Format, Inputs, Markers};
use requests::{Expected, requests};

const SEEDS: u64 = 12;
/// Number of seeds for each table of `response-template`, of which there are many.
const SEEDS_OF_A_TABLE: u64 = 3;

const QWEN3: Format = Format::of::<qwen3_parser::Qwen3>(&[
    "",
    "<|im_start|>assistant\n",
    "<|im_start|>assistant\n<think>\n",
    "<|im_start|>assistant\n<think>\n\n</think>\n\n",
]);

const QWEN3_CODER: Format = Format {
    // The other markers are text in every tokenizer.
    tokens: &[0, 1, 2, 3, 4, 5],
    inputs: Inputs::BeforeText,
    ..Format::of::<qwen3_coder_parser::Qwen3Coder>(QWEN3.prompts)
};
const GLM: Format = Format {
    inputs: Inputs::BeforeToken,
    ..Format::of::<glm_parser::Glm>(&[
        "",
        "<|assistant|>",
        "<|assistant|>\n<think></think>",
        "<|assistant|>\n<think></think>\n",
        "<|assistant|><think>",
    ])
};
const KIMI_K2: Format = Format {
    only_tokens: true,
    ..Format::of::<kimi_k2_parser::KimiK2>(&[
        "",
        "<|im_assistant|>assistant<|im_middle|>",
        "<|im_assistant|>assistant<|im_middle|><think>",
    ])
};
const DEEPSEEK_V3: Format = Format {
    only_tokens: true,
    ..Format::of::<deepseek_v3_parser::DeepSeekV3>(&[
        "",
        "<｜Assistant｜>",
        "<｜Assistant｜><think>\n",
        "<｜Assistant｜></think>",
    ])
};

const HARMONY: Format = Format {
    only_tokens: true,
    inputs: Inputs::BeforeToken,
    ..Format::of::<harmony_parser::Harmony>(&[
        "",
        "<|start|>assistant",
        "<|start|>assistant<|channel|>analysis<|message|>",
    ])
};
const LLAMA3: Format = Format {
    tokens: &[0, 3, 4, 5, 6, 7],
    ..Format::of::<llama3_parser::Llama3>(&["", "<|start_header_id|>assistant<|end_header_id|>\n\n"])
};
const MISTRAL: Format = Format::of::<mistral_parser::Mistral>(&["", "[THINK]"]);
const MINIMAX_M2: Format = Format {
    // The other markers are text in every tokenizer.
    tokens: &[0, 1, 2, 3, 4, 5],
    inputs: Inputs::BeforeText,
    ..Format::of::<minimax_m2_parser::MiniMaxM2>(&[
        "",
        "]~b]ai\n",
        "]~b]ai\n<think>\n",
        "]~b]ai\n<think>\n\n</think>\n\n",
    ])
};
const MINIMAX_M3: Format = Format {
    only_tokens: true,
    inputs: Inputs::BeforeToken,
    ..Format::of::<minimax_m3_parser::MiniMaxM3>(&[
        "",
        "]~b]ai\n",
        "]~b]ai\n<mm:think>",
        "]~b]ai\n</mm:think>",
    ])
};
const GEMMA4: Format = Format::of::<gemma4_parser::Gemma4>(&[
    "",
    "<|turn>model\n",
    "<start_of_turn>model\n",
    "<|channel>thought\n",
    "<|turn>model\n<|channel>thought\n<channel|>",
]);
const PYTHONIC: Format = Format::of::<pythonic_parser::Pythonic>(&[
    "",
    "<|header_start|>assistant<|header_end|>\n\n",
    "<|im_start|>assistant\n",
    "<|im_start|>assistant\n<think>",
    "<start_of_turn>model\n",
]);
const APERTUS: Format = Format::of::<apertus_parser::Apertus>(&[
    "",
    "<|assistant_start|>",
    "<|assistant_start|><|inner_prefix|>",
]);
const HUNYUAN: Format = Format::of::<hunyuan_parser::Hunyuan>(&[
    "",
    "<|extra_0|>",
    "<|extra_0|><think>\n\n</think>\n",
    "<|extra_0|><think>\n\n</think>\n<answer>\n",
]);
const MUSE: Format = Format {
    // The other markers are text in every tokenizer.
    tokens: &[0, 1, 2, 3],
    inputs: Inputs::BeforeText,
    ..Format::of::<muse_parser::Muse>(&["", "<|start|>assistant", "<|start|>assistant to=self<|message|>"])
};
const DEEPSEEK_V4: Format = Format {
    tokens: &[0, 1, 2, 3],
    inner: &["｜DSML｜"],
    ..Format::of::<deepseek_v4_parser::DeepSeekV4>(&["", "<｜Assistant｜><think>", "<｜Assistant｜></think>"])
};
const KIMI_K3: Format = Format {
    tokens: &[15],
    inner: &["<|open|>", "<|close|>", "<|sep|>"],
    ..Format::of::<kimi_k3_parser::KimiK3>(&[
        "",
        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
    ])
};

#[test]
fn gemma4() {
    round_trip(GEMMA4);
}

#[test]
fn pythonic() {
    round_trip(PYTHONIC);
}

#[test]
fn apertus() {
    round_trip(APERTUS);
}

#[test]
fn hunyuan() {
    round_trip(HUNYUAN);
}

#[test]
fn muse() {
    round_trip(MUSE);
}

#[test]
fn deepseek_v4() {
    round_trip(DEEPSEEK_V4);
}

#[test]
fn kimi_k3() {
    round_trip(KIMI_K3);
}

#[test]
fn harmony() {
    round_trip(HARMONY);
}

#[test]
fn llama3() {
    round_trip(LLAMA3);
}

#[test]
fn mistral() {
    round_trip(MISTRAL);
}

#[test]
fn minimax_m2() {
    round_trip(MINIMAX_M2);
}

/// Its tools are strict and describe their arguments: any others may be nested so deep that a
/// random walk finds no end.
#[test]
fn minimax_m3() {
    let strict = |mut request: Demand| {
        request.tools.retain(|tool| tool.schema != "{}");
        request.tools.iter_mut().for_each(|tool| tool.strict = true);
        request
    };
    let requests = requests().into_iter().chain(inputs::requests(MINIMAX_M3.inputs));
    let requests = requests.map(|(name, request, expected)| (name, strict(request), expected));
    check(MINIMAX_M3, requests.filter(|(_, _, expected)| !matches!(expected, Expected::Free)));
}

#[test]
fn qwen3() {
    round_trip(QWEN3);
}

#[test]
fn qwen3_coder() {
    round_trip(QWEN3_CODER);
}

#[test]
fn glm() {
    round_trip(GLM);
}

#[test]
fn kimi_k2() {
    round_trip(KIMI_K2);
}

#[test]
fn deepseek_v3() {
    round_trip(DEEPSEEK_V3);
}

fn round_trip(format: Format) {
    check(format, requests().into_iter().chain(inputs::requests(format.inputs)));
}

fn check(format: Format, requests: impl Iterator<Item = (&'static str, Demand, Expected)>) {
    for (name, request, expected) in requests {
        let expected = format.expected(name, expected);
        for markers in [Markers::Tokens, Markers::Text] {
            judge(&format, name, &request, expected, markers);
        }
    }
}

fn judge(format: &Format, name: &str, request: &Demand, expected: Expected, markers: Markers) {
    let needs_tokens = format.only_tokens(request) && markers == Markers::Text;
    match (expected, format.grammar(request, markers)) {
        (Expected::Free, Ok(None)) => {}
        (Expected::Refused(word) | Expected::Either(word), Err(error)) if error.contains(word) => {}
        (Expected::Constrained | Expected::Either(_), Err(error))
            if needs_tokens && error.contains("no token") => {}
        (Expected::Constrained | Expected::Either(_), Ok(Some(grammar))) if !needs_tokens => {
            let seeds = if format.table.is_some() { SEEDS_OF_A_TABLE } else { SEEDS };
            if let Err(error) = format.judge(request, &grammar, markers, 0..seeds) {
                panic!("{name}: {error}\n{grammar}");
            }
        }
        (expected, grammar) => panic!("{name}, {markers:?}: {expected:?} was expected, not {grammar:?}"),
    }
}

#[test]
fn the_oracle_notices_a_grammar_that_is_too_wide() {
    let mut checked = 0;
    for (name, request, expected) in requests() {
        if !matches!(expected, Expected::Constrained)
            || request.tool_choice != ToolChoice::Required
            || request.tools.len() < 3
        {
            continue;
        }
        let mut wider = request.clone();
        for tool in &mut wider.tools {
            tool.schema =
                r#"{"type":"object","properties":{"stray":{"type":"null"}},"required":["stray"]}"#.into();
        }
        let grammar =
            QWEN3.grammar(&wider, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
        assert!(QWEN3.judge(&request, &grammar, Markers::Tokens, 0..8).is_err(), "{name}");
        checked += 1;
    }
    assert!(checked > 0, "no request demands one of three tools");
}

#[test]
fn oracle_notices_an_input_that_ignores_its_grammar() {
    let (_, request, _) = inputs::requests(Inputs::BeforeToken).swap_remove(0);
    let mut free = request.clone();
    free.tools[0].grammar = None;
    let grammar = GLM.grammar(&free, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
    let error = GLM.judge(&request, &grammar, Markers::Tokens, 0..8).expect_err("the judge notices");
    assert!(error.contains("grammar"), "{error}");
}

#[test]
fn oracle_notices_a_grammar_that_ignores_the_choice() {
    let (_, request, _) = requests().swap_remove(0);
    let mut loose = request.clone();
    loose.tool_choice = ToolChoice::Auto;
    loose.tools[0].strict = true;
    let grammar =
        QWEN3.grammar(&loose, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
    let error = QWEN3.judge(&request, &grammar, Markers::Tokens, 0..8).expect_err("the judge notices");
    assert!(error.contains("no call") || error.contains("message"), "{error}");
}
