//! Choices by trial: which shipped parser is taken for a turn with a call as a chat template writes
//! it.

use super::*;
use prompt::CallingTurn;

/// The beginning of a turn, a call in it, and the shipped parser of the format with a type that it
/// claims.
type Format = (&'static str, &'static str, &'static str, &'static str);

const QWEN3: Format = (
    "<|im_start|>assistant\n",
    "<think>\n\n</think>\n\n<tool_call>\n{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}\n</tool_call>",
    "qwen3",
    "qwen3",
);
const CODER: Format = (
    "<|im_start|>assistant\n",
    "<tool_call>\n<function=q_z>\n<parameter=q>\nz w\n</parameter>\n</function>\n</tool_call>",
    "qwen3-coder",
    "qwen3_5",
);
const FORMATS: [Format; 19] = [
    QWEN3,
    CODER,
    (
        "<｜Assistant｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>q_z<｜tool▁sep｜>{\"q\":\"z w\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "deepseek-v3",
        "deepseek_v3",
    ),
    (
        "<|assistant|>",
        "\n<think></think>\n<tool_call>q_z\n<arg_key>q</arg_key>\n<arg_value>z w</arg_value>\n</tool_call>",
        "glm",
        "glm4_moe",
    ),
    (
        "<|start|>assistant",
        " to=functions.q_z<|channel|>commentary json<|message|>{\"q\": \"z w\"}<|call|>",
        "harmony",
        "gpt_oss",
    ),
    (
        // The id is respelt as this format has it.
        "<|im_assistant|>assistant<|im_middle|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>qzcall000<|tool_call_argument_begin|>{\"q\": \"z w\"}<|tool_call_end|>\
         <|tool_calls_section_end|>",
        "kimi-k2",
        "kimi_k2",
    ),
    (
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "{\"name\": \"q_z\", \"parameters\": {\"q\": \"z w\"}}",
        "llama3",
        "mllama",
    ),
    (
        "]~b]ai\n",
        "\n<minimax:tool_call>\n<invoke name=\"q_z\">\n<parameter name=\"q\">z w</parameter>\n</invoke>\n</minimax:tool_call>[e~[\n",
        "minimax-m2",
        "minimax_m2",
    ),
    (
        "]~b]ai\n",
        "</mm:think>]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"q_z\">]<]minimax[>[<q>z w]<]minimax[>[</q>]<]minimax[>[</invoke>\n\
         ]<]minimax[>[</tool_call>[e~[\n",
        "minimax-m3",
        "minimax_m3_vl",
    ),
    (
        "<｜Assistant｜></think>",
        "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"q_z\">\n<｜DSML｜parameter name=\"q\" string=\"true\">z w</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>",
        "deepseek-v4",
        "deepseek_v4",
    ),
    (
        "<|extra_0|>",
        "<think>\n\n</think>\n<answer>\n<tool_calls>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]</tool_calls>\n</answer><|eos|>",
        "hunyuan",
        "hunyuan_v1_moe",
    ),
    (
        "<|open|>message role=\"assistant\"<|sep|>",
        "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"q_z\" index=\"1\"<|sep|>\
         <|open|>argument key=\"q\" type=\"string\"<|sep|>z w<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>\
         <|close|>message<|sep|><|end_of_msg|>",
        "kimi-k3",
        "kimi_k3",
    ),
    (
        "<|start|>assistant",
        " to=q_z<|message|><atem:function_calls>\n<atem:invoke name=\"q_z\">\n<atem:parameter name=\"q\">z w</atem:parameter>\n\
         </atem:invoke>\n</atem:function_calls><|eot|>",
        "muse",
        "muse_glimmer",
    ),
    (
        "",
        "[TOOL_CALLS] [{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}, \"id\": \"qzcall000\"}]",
        "mistral",
        "mistral",
    ),
    (
        "<|turn>model\n",
        "<|tool_call>call:q_z{q:<|\"|>z w<|\"|>}<tool_call|><|tool_response>",
        "gemma4",
        "gemma4",
    ),
    (
        "<start_of_turn>model\n",
        "<start_function_call>call:q_z{q:<escape>z w<escape>}<end_function_call><start_function_response>",
        "gemma4",
        "gemma4_text",
    ),
    (
        "<|im_start|>assistant\n",
        "<|tool_call_start|>[q_z(q='z w')]<|tool_call_end|><|im_end|>\n",
        "pythonic",
        "lfm2",
    ),
    (
        "<|im_start|>assistant\n",
        "<function_calls>\nq_z(q='z w')\n</function_calls><|im_end|>\n",
        "pythonic",
        "olmo3",
    ),
    (
        "<|assistant_start|>",
        "<|tools_prefix|>[{\"q_z\": {\"q\": \"z w\"}}]<|tools_suffix|>",
        "apertus",
        "apertus",
    ),
];

/// Calls that no shipped parser reads: one with none of their markers, those with markers of some,
/// and one that a template wrote as broken JSON.
const UNREAD: [&str; 4] = [
    "<calls>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]</calls>",
    "<think>\n</think>\n<TOOLS>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]</TOOLS>",
    "<sprout:tool_call>\n<function=q_z>\n<parameter=q>z w</parameter>\n</function>\n</sprout:tool_call>",
    "<tool_call>\n{\"name\": \"q_z, \"arguments\": {\"q\": \"z w\"}}\n</tool_call>",
];

/// Facts of a model whose template writes this turn. Its source and its tokens have the markers of
/// all formats, which prove nothing.
fn model(model_type: &str, opening: &str, written: &str) -> ModelFacts {
    let all: Vec<String> = FORMATS.iter().map(|format| format.1.to_owned()).collect();
    let turn = CallingTurn { opening: opening.to_owned(), written: written.to_owned() };
    let tokens = ["<think>", "</think>", "<tool_call>", "</tool_call>"].map(str::to_owned).into();
    ModelFacts {
        template: format!("{{# {} #}}{opening}{written}", all.concat()),
        turns: vec![turn],
        tokens,
        ..facts(model_type, None)
    }
}

fn chosen(facts: ModelFacts) -> Result<(String, bool, String), String> {
    let folder = folder(&[]);
    let choice = choose("auto", &options(folder.path()), facts)?;
    Ok((choice.source, choice.doubtful, choice.why))
}

#[test]
fn unclaimed_model_gets_the_parser_reading_its_call() {
    for (opening, written, parser, _) in FORMATS {
        let (source, doubtful, why) = chosen(model("unheard-of", opening, written)).unwrap();
        assert_eq!((source.as_str(), doubtful), (parser, false), "{why}");
    }
}

/// The beginning of a turn, a call in it, and the shipped table of the format.
const TABLES: [(&str, &str, &str); 7] = [
    (
        "<seed:bos>assistant",
        "\n<seed:tool_call>\n<function=q_z>\n<parameter=q>z w</parameter>\n</function>\n</seed:tool_call>",
        "seed-oss",
    ),
    (
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        "<|START_ACTION|>[\n    {\"tool_call_id\": \"qzcall000\", \"tool_name\": \"q_z\", \"parameters\": {\"q\": \"z w\"}}\n]<|END_ACTION|>",
        "cohere",
    ),
    (
        "<SPECIAL_11>Assistant\n",
        "<TOOLCALL>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]</TOOLCALL>",
        "nemotron",
    ),
    (
        "assistant<|role_sep|>\n",
        "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}<|message_sep|>\n\n",
        "gigachat3",
    ),
    (
        "<|im_start|>assistant\n",
        "<function name=\"q_z\"><param name=\"q\">z w</param></function>",
        "minicpm5",
    ),
    (
        "<｜hy_Assistant:opensource｜>",
        "<think:opensource></think:opensource><tool_calls:opensource>\n<tool_call:opensource>q_z<tool_sep:opensource>\n\
         <arg_key:opensource>q</arg_key:opensource>\n<arg_value:opensource>z w</arg_value:opensource>\n</tool_call:opensource>\n\
         </tool_calls:opensource><｜hy_eos:opensource｜>",
        "hy3",
    ),
    (
        "<|assistant|>",
        "<dots_function_call>\n<invoke name=\"q_z\">\n<parameter name=\"q\">z w</parameter>\n</invoke>\n</dots_function_call><|endofassistant|>",
        "dots",
    ),
];

#[test]
fn table_with_the_templates_markers_and_call_is_taken() {
    for (opening, written, table) in TABLES {
        let (source, doubtful, why) = chosen(model("unheard-of", opening, written)).unwrap();
        assert_eq!((source.as_str(), doubtful), (table, false), "{why}");
        let line = chosen(model("qwen3", opening, written)).unwrap_err();
        assert!(line.ends_with(&format!("choose with --parser {table} or --parser qwen3")), "{line}");
    }
}

#[test]
fn folder_table_replaces_the_shipped_one_of_its_name() {
    let folder = folder(&[]);
    let tables = folder.path().join("tables");
    std::fs::create_dir(&tables).unwrap();
    let file = tables.join("seed-oss.json");
    let path = file.to_str().unwrap().to_owned();
    let (opening, written, _) = TABLES[0];
    std::fs::copy("../../plugins/tables/seed-oss.json", &file).unwrap();
    let options = options(folder.path());
    for argument in ["auto", "seed-oss", &path] {
        let choice = choose(argument, &options, model("unheard-of", opening, written)).unwrap();
        assert_eq!(choice.source, path, "{argument}: {}", choice.why);
        assert_eq!(choice.plugin.descriptor().name, "seed-oss");
    }
    std::fs::write(&file, "{}").unwrap();
    let line = choose("seed-oss", &options, model("unheard-of", opening, written)).unwrap_err();
    assert!(line.contains("seed-oss.json: not a table: missing field `about`"), "{line}");
    let choice = choose("auto", &options, model("unheard-of", opening, written)).unwrap();
    assert_eq!(choice.source, "none", "a table that is none doesn't keep the server from starting");
}

/// Lists of calls in Python, which no marker announces.
#[test]
fn bare_list_of_calls_is_read_by_the_python_parser() {
    for (opening, written) in [
        ("<|header_start|>assistant<|header_end|>\n\n", "[q_z(q=\"z w\")]<|eot|>"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\n", "[q_z(q=z w)]<|eot_id|>"),
        ("<start_of_turn>model\n", "[q_z(q=\"z w\")]<end_of_turn>\n"),
    ] {
        for model_type in ["llama", "llama4", "gemma3"] {
            let (source, doubtful, why) = chosen(model(model_type, opening, written)).unwrap();
            assert_eq!((source.as_str(), doubtful), ("pythonic", false), "{why}");
        }
    }
}

/// JSON that no marker announces, in the turns of Llama 4 and of `ChatML`.
#[test]
fn bare_json_calls_are_read_by_the_parser_of_llama_3() {
    let call = "{\"name\": \"q_z\", \"parameters\": {\"q\": \"z w\"}}";
    let list = "[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]";
    for (opening, written) in [
        ("<|header_start|>assistant<|header_end|>\n\n", format!("{call}<|eot|>")),
        ("<|im_start|>assistant\n", format!("{list}<|im_end|>\n")),
    ] {
        for model_type in ["llama4", "qwen2"] {
            let (source, doubtful, why) = chosen(model(model_type, opening, &written)).unwrap();
            assert_eq!((source.as_str(), doubtful), ("llama3", false), "{why}");
        }
    }
}

#[test]
fn a_call_that_no_parser_reads_gets_none_and_is_shown() {
    for written in UNREAD {
        let (source, doubtful, why) =
            chosen(model("unheard-of", "<|im_start|>assistant\n", written)).unwrap();
        assert_eq!((source.as_str(), doubtful), ("none", true), "{why}");
        let shown = written.replace('\n', "\\n");
        let expected =
            "no parser claims model_type unheard-of, and none reads a call as its chat template writes it: ";
        assert_eq!(why, [expected, &shown].concat());
    }
}

#[test]
fn claim_holds_for_its_own_format_and_no_other() {
    for (_, _, claimant, model_type) in FORMATS {
        for (opening, written, parser, _) in FORMATS {
            let choice = chosen(model(model_type, opening, written));
            if parser == claimant {
                let (source, doubtful, why) = choice.unwrap();
                assert_eq!((source.as_str(), doubtful), (claimant, false), "{model_type}: {why}");
                continue;
            }
            let line = choice.unwrap_err();
            let says = format!(
                "{claimant} claims model_type {model_type}, but the chat template writes calls as {parser} reads them ("
            );
            let does = format!("): choose with --parser {parser} or --parser {claimant}");
            assert!(line.starts_with(&says) && line.ends_with(&does) && !line.contains('\n'), "{line}");
        }
    }
}

#[test]
fn claim_on_an_unread_call_is_doubtful_and_shows_it() {
    for (_, _, claimant, model_type) in FORMATS {
        for written in UNREAD {
            let (source, doubtful, why) =
                chosen(model(model_type, "<|im_start|>assistant\n", written)).unwrap();
            assert_eq!((source.as_str(), doubtful), (claimant, true), "{written}: {why}");
            let shown = written.replace('\n', "\\n");
            let sign = format!("though it doesn't read a call as the chat template writes it: {shown}");
            assert!(why.ends_with(&sign), "{why}");
        }
    }
}

#[test]
fn of_several_claimants_the_one_reading_the_call_wins() {
    for (opening, written, parser, _) in [QWEN3, CODER] {
        let (source, doubtful, why) = chosen(model("qwen3_moe", opening, written)).unwrap();
        assert_eq!((source.as_str(), doubtful), (parser, false), "{why}");
    }
}

#[test]
fn unread_reasoning_is_a_doubt_and_is_shown() {
    let (opening, written, parser, claimed) = QWEN3;
    let call = written.trim_start_matches("<think>\n\n</think>\n\n");
    for model_type in ["unheard-of", claimed] {
        for (reasoning, is_read) in [("<think>q z q</think>", true), ("[REASON]q z q[/REASON]", false)] {
            let mut facts = model(model_type, opening, written);
            let written = [reasoning, call].concat();
            facts.turns.push(CallingTurn { opening: opening.to_owned(), written });
            let (source, doubtful, why) = chosen(facts).unwrap();
            assert_eq!((source.as_str(), doubtful), (parser, !is_read), "{why}");
            let sign = "though it doesn't read a turn with reasoning: [REASON]q z q[/REASON]<tool_call>";
            assert_eq!(why.contains(sign), !is_read, "{why}");
        }
    }
}
