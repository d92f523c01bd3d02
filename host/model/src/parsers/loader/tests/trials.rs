//! Choices by trial: which shipped parser is taken for a turn with a call as a chat template writes
//! it.

use super::*;
use registry::{CallingTurn, Format};

/// Each parser, and the turns with a call as chat templates of its format write them.
fn turns() -> impl Iterator<Item = (&'static str, &'static CallingTurn)> {
    let of = |format: &'static Format| format.profile.turns.iter().map(|turn| (format.name, turn));
    registry::FORMATS.iter().flat_map(of)
}

fn turn_of(parser: &str) -> &'static CallingTurn {
    turns().find(|(name, _)| *name == parser).expect("a turn of the format").1
}

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
    let all: String = turns().map(|(_, turn)| turn.written).collect();
    let turn = prompt::CallingTurn { opening: opening.to_owned(), written: written.to_owned() };
    let tokens = ["<think>", "</think>", "<tool_call>", "</tool_call>"].map(str::to_owned).into();
    ModelFacts {
        template: format!("{{# {} #}}{opening}{written}", all),
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
    for (parser, CallingTurn { opening, written, .. }) in turns() {
        let (source, doubtful, why) = chosen(model("unheard-of", opening, written)).unwrap();
        assert_eq!((source.as_str(), doubtful), (parser, false), "{why}");
    }
}

/// The beginning of a turn, a call in it, and the shipped table of the format.
const TABLES: [(&str, &str, &str); 9] = [
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
    (
        "<|iquest_assistant|>",
        "<think></think><iquest_tool_call>q_z<arg_key>q</arg_key><arg_value>z w</arg_value></iquest_tool_call><|iquest_end|>",
        "iquest",
    ),
    (
        "[unused9]助手：",
        "[unused11][{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}][unused12][unused10]",
        "openpangu",
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
    for (claimant, CallingTurn { model_type, .. }) in turns() {
        for (parser, CallingTurn { opening, written, .. }) in turns() {
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
    for (claimant, CallingTurn { model_type, .. }) in turns() {
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
    for parser in ["qwen3", "qwen3-coder"] {
        let CallingTurn { opening, written, .. } = turn_of(parser);
        let (source, doubtful, why) = chosen(model("qwen3_moe", opening, written)).unwrap();
        assert_eq!((source.as_str(), doubtful), (parser, false), "{why}");
    }
}

#[test]
fn unread_reasoning_is_a_doubt_and_is_shown() {
    let CallingTurn { opening, written, model_type: claimed } = turn_of("qwen3");
    let call = written.trim_start_matches("<think>\n\n</think>\n\n");
    for model_type in ["unheard-of", claimed] {
        for (reasoning, is_read) in [("<think>q z q</think>", true), ("[REASON]q z q[/REASON]", false)] {
            let mut facts = model(model_type, opening, written);
            let written = [reasoning, call].concat();
            facts.turns.push(prompt::CallingTurn { opening: (*opening).to_owned(), written });
            let (source, doubtful, why) = chosen(facts).unwrap();
            assert_eq!((source.as_str(), doubtful), ("qwen3", !is_read), "{why}");
            let sign = "though it doesn't read a turn with reasoning: [REASON]q z q[/REASON]<tool_call>";
            assert_eq!(why.contains(sign), !is_read, "{why}");
        }
    }
}
