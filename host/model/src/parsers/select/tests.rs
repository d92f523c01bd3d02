//! Tests of the choice between parsers, as a table of claims and evidence.

use super::*;

const QWEN3: &[&str] = &["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"];
const CODER: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    "<|im_end|>",
];
const LLAMA3: &[&str] = &["<|python_tag|>", "<|eom_id|>", "<|eot_id|>"];
const DEEPSEEK: &[&str] = &["<think>", "</think>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"];

const MISTRAL: &[&str] = &["[THINK]", "[/THINK]", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"];

const QWEN3_TEMPLATE: &str = "<|im_end|> <tool_call>{}</tool_call> {% if '</think>' in content %}<think>";
const CODER_TEMPLATE: &str =
    "<tool_call>\n<function=x>\n<parameter=y>\n</parameter>\n</function>\n</tool_call><|im_end|>";

fn descriptor(name: &str, models: &[&str], markers: &[&str]) -> Descriptor {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Descriptor {
        name: name.to_owned(),
        models: owned(models),
        markers: owned(markers),
        ..Descriptor::default()
    }
}

fn shipped() -> Vec<Descriptor> {
    vec![
        descriptor("qwen3", &["qwen3", "qwen3_moe"], QWEN3),
        descriptor("qwen3-coder", &["qwen3_moe", "qwen3_next"], CODER),
        descriptor("llama3", &["llama"], LLAMA3),
        descriptor("deepseek", &["deepseek_v3", "llama"], DEEPSEEK),
        descriptor("mistral", &["mistral", "mistral3"], MISTRAL),
    ]
}

/// Chooses for a model of these types, with this template and these added tokens.
fn choose(
    descriptors: &[Descriptor],
    types: &[&str],
    template: &str,
    tokens: &[&str],
) -> Result<(String, Selected), SelectError> {
    let types: Vec<_> = types.iter().map(|name| (*name).to_owned()).collect();
    let tokens = tokens.iter().map(|literal| (*literal).to_owned()).collect();
    let model = Evidence { types: &types, template, plain: "", turns: &[], tokens: &tokens };
    let candidates: Vec<_> =
        descriptors.iter().map(|d| ParserCandidate { name: &d.name, descriptor: d }).collect();
    let selected = select(&model, &candidates)?.expect("somebody claims it");
    // The order in which plugins are found must not matter.
    let mut turned = candidates.clone();
    turned.reverse();
    let again = select(&model, &turned)?.expect("somebody claims it");
    assert_eq!(turned[again.index].name, candidates[selected.index].name);
    assert_eq!(again.why, selected.why);
    Ok((candidates[selected.index].name.to_owned(), selected))
}

#[test]
fn which_parser_serves_which_model() {
    let all_tokens = [QWEN3, CODER].concat();
    for (types, template, tokens, expected) in [
        (&["qwen3", "Qwen3ForCausalLM"][..], QWEN3_TEMPLATE, QWEN3, "qwen3"),
        (&["qwen3_moe"], QWEN3_TEMPLATE, QWEN3, "qwen3"),
        (&["qwen3_moe"], CODER_TEMPLATE, QWEN3, "qwen3-coder"),
        // Both have every control token; the template alone says which of them are used.
        (&["qwen3_moe"], CODER_TEMPLATE, &all_tokens[..], "qwen3-coder"),
        (&["qwen3_moe"], QWEN3_TEMPLATE, &all_tokens[..], "qwen3"),
        // A thinking model that writes calls as XML has markers of both: more of the coder's.
        (&["qwen3_moe"], &[CODER_TEMPLATE, "<think></think>"].concat(), QWEN3, "qwen3-coder"),
        (&["llama"], "<|eot_id|>", LLAMA3, "llama3"),
        (&["llama"], "<｜tool▁calls▁begin｜>…<think>", DEEPSEEK, "deepseek"),
    ] {
        let (name, selected) = choose(&shipped(), types, template, tokens).unwrap();
        assert_eq!(name, expected, "{types:?} {template}: {}", selected.why);
        assert!(!selected.doubtful && !selected.why.contains('\n'));
    }
}

#[test]
fn a_mistral_of_any_generation_gets_its_parser() {
    let old = "[AVAILABLE_TOOLS] [/AVAILABLE_TOOLS][INST] [/INST][TOOL_CALLS] [</s>";
    for (types, template, tokens) in [
        (&["mistral", "MistralForCausalLM"][..], old, &["[INST]", "[TOOL_CALLS]", "</s>"][..]),
        (&["mistral"], "[INST] [/INST]</s>", &["</s>"]),
        (&["mistral3"], "[THINK][/THINK][TOOL_CALLS][ARGS]", MISTRAL),
    ] {
        let (name, selected) = choose(&shipped(), types, template, tokens).unwrap();
        assert_eq!((name.as_str(), selected.doubtful), ("mistral", false), "{template}: {}", selected.why);
    }
}

#[test]
fn claim_that_the_template_contradicts_names_both() {
    let line = choose(&shipped(), &["mistral"], QWEN3_TEMPLATE, QWEN3).unwrap_err().to_string();
    assert_eq!(
        line,
        "mistral claims model_type mistral, but the chat template has the markers of qwen3 (<think> </think> <tool_call> \
         </tool_call> <|im_end|>): choose with --parser qwen3 or --parser mistral"
    );
    let line = choose(&shipped(), &["qwen3"], CODER_TEMPLATE, QWEN3).unwrap_err().to_string();
    assert!(line.contains("--parser qwen3-coder or --parser qwen3"), "{line}");
    let replaced = [&shipped()[1..], &[descriptor("mine", &["qwen3"], &[])]].concat();
    let (name, _) = choose(&replaced, &["qwen3"], CODER_TEMPLATE, QWEN3).unwrap();
    assert_eq!(name, "mine", "a parser without markers can't be contradicted");
}

/// What is chosen for a model that nobody claims, with this template, which writes `plain` for a
/// conversation without tools.
fn choose_unclaimed(template: &str, plain: &str) -> Result<String, String> {
    let types = ["mamba".to_owned()];
    let model = Evidence { types: &types, template, plain, turns: &[], tokens: &HashSet::new() };
    let mut descriptors = shipped();
    descriptors[4].stops = vec![5];
    let candidates: Vec<_> =
        descriptors.iter().map(|d| ParserCandidate { name: &d.name, descriptor: d }).collect();
    assert_eq!(select(&model, &candidates).unwrap(), None);
    select_unclaimed(&model, &candidates).map(|selected| candidates[selected.index].name.to_owned())
}

#[test]
fn the_template_of_a_model_that_nobody_claims_decides() {
    for (template, expected) in [
        (QWEN3_TEMPLATE, "qwen3"),
        ("<tool_call></tool_call>", "qwen3"),
        (CODER_TEMPLATE, "qwen3-coder"),
        ("<|eot_id|> <|python_tag|>", "llama3"),
        ("[TOOL_CALLS]</s>", "mistral"),
    ] {
        assert_eq!(choose_unclaimed(template, "<|im_end|>").as_deref(), Ok(expected), "{template}");
    }
    let none = "no parser claims model_type mamba, and its chat template has no parser's markers of calls or reasoning";
    for (template, plain) in [("<|im_end|>", "<|im_end|>"), ("</s>", ""), ("{{ messages }}", "")] {
        assert_eq!(choose_unclaimed(template, plain).unwrap_err(), none, "{template}");
    }
}

#[test]
fn template_pointing_to_two_alike_names_both() {
    let types = ["mamba".to_owned()];
    let model = Evidence { types: &types, template: "<a>", plain: "", turns: &[], tokens: &HashSet::new() };
    let both = [descriptor("one", &[], &["<a>", "<b>"]), descriptor("two", &[], &["<a>", "<c>"])];
    let candidates = both.each_ref().map(|d| ParserCandidate { name: &d.name, descriptor: d });
    let line = select_unclaimed(&model, &candidates).unwrap_err();
    assert!(line.ends_with("its chat template points to one and two alike by <a>"), "{line}");
}

#[test]
fn two_reading_a_call_alike_are_named_and_not_chosen() {
    let types = ["mamba".to_owned()];
    let turns = [CallingTurn { opening: String::new(), written: "<a>\nq_z".to_owned() }];
    let model =
        Evidence { types: &types, template: "", plain: "<a>", turns: &turns, tokens: &HashSet::new() };
    let all = ["one", "two", "three"]
        .map(|name| descriptor(name, &[], if name == "three" { &[] } else { &["<a>"] }));
    let candidates = all.each_ref().map(|d| ParserCandidate { name: &d.name, descriptor: d });
    assert_eq!(to_try(&model, &candidates, None), [[0, 1]], "alike, and the third has no marker in the turn");
    assert_eq!(to_try(&model, &candidates, Some(0)), [[1]]);
    let line = select_reader(&model, &candidates, &[0, 1]).unwrap_err();
    let expected = "no parser claims model_type mamba, and one and two read a call as its chat template writes it alike: <a>\\nq_z";
    assert_eq!(line, expected);
}

#[test]
fn an_architecture_is_a_claim_too() {
    let mine = [descriptor("mine", &["MyForCausalLM"], &[])];
    assert_eq!(choose(&mine, &["odd", "MyForCausalLM"], "", &[]).unwrap().0, "mine");
}

#[test]
fn the_reason_names_the_claimants_and_what_decided() {
    let why = choose(&shipped(), &["qwen3_moe"], CODER_TEMPLATE, QWEN3).unwrap().1.why;
    assert_eq!(
        why,
        "several parsers claim model_type qwen3_moe: qwen3-coder (4 of its 4 own markers in the template, 0 among the added \
         tokens, e.g. <function=), qwen3 (0 of its 2 own markers in the template, 2 among the added tokens); so qwen3-coder"
    );
}

#[test]
fn missing_markers_speak_against_a_richer_parser() {
    let mut more = QWEN3.to_vec();
    more.extend(["<extra>", "</extra>"]);
    let both = [descriptor("plain", &["m"], QWEN3), descriptor("extended", &["m"], &more)];
    assert_eq!(choose(&both, &["m"], QWEN3_TEMPLATE, QWEN3).unwrap().0, "plain");
    let template = [QWEN3_TEMPLATE, "<extra>"].concat();
    assert_eq!(choose(&both, &["m"], &template, QWEN3).unwrap().0, "extended");
}

#[test]
fn a_tie_lists_the_claimants_and_what_to_type() {
    let both = [descriptor("one", &["m"], QWEN3), descriptor("two", &["m"], QWEN3)];
    let line = choose(&both, &["m"], QWEN3_TEMPLATE, QWEN3).unwrap_err().to_string();
    assert!(
        line.starts_with("several parsers claim model_type m, and its chat template fits them alike: one (")
    );
    assert!(line.ends_with("; choose one: --parser one or --parser two"), "{line}");
    let three = [&both[..], &[descriptor("worse", &["m"], &["<nowhere>"])]].concat();
    let line = choose(&three, &["m"], QWEN3_TEMPLATE, QWEN3).unwrap_err().to_string();
    assert!(line.ends_with("; choose one: --parser one or --parser two"), "{line}");
}

#[test]
fn sole_claimant_unfit_for_the_files_is_doubtful() {
    let only = [descriptor("llama3", &["llama"], LLAMA3)];
    let (_, selected) = choose(&only, &["llama"], "<tool_call>", QWEN3).unwrap();
    assert_eq!(
        (selected.doubtful, selected.why.as_str()),
        (true, "it claims model_type llama, though the chat template has none of its markers")
    );
    assert!(
        choose(&only, &["llama"], "", LLAMA3).unwrap().1.doubtful,
        "a tokenizer has them whatever the template is"
    );
    assert!(!choose(&only, &["llama"], "<|eot_id|>", &[]).unwrap().1.doubtful);
    // Of several the tokenizer may decide, and the doubt stays.
    let (name, selected) = choose(&shipped(), &["llama"], "{{ messages }}", LLAMA3).unwrap();
    assert_eq!((name.as_str(), selected.doubtful), ("llama3", true));
}
