//! What is composed for formats with a notation of their own, and what of a request is refused.

use super::MarkerTokens;
use crate::lark::tests::forced;
use crate::{CallForm, Demand, GrammarTemplate, ToolChoice, ToolDefinition};

const MARKERS: [&str; 4] = ["<call>", "</call>", "<|\"|>", "<turn>"];
/// Gemma's notation: bare keys, and strings between markers.
const BARE: &str = "%key 64 /[A-Za-z0-9_]/
%value 2
%name 64 /[a-z_]/
call: marker_0 \"call:\" name arguments marker_1
object: \"{\" members \"}\"
pair: key \":\" value
comma: \",\"
list: \"[\" items \"]\"
string: marker_2 chars marker_2
";

fn compose(template: &str, demand: &Demand) -> Result<Option<String>, String> {
    let template = GrammarTemplate::parse(template, &MARKERS).unwrap_or_else(|error| panic!("{error}"));
    let tokens = MarkerTokens { ids: &[Some(7), Some(8), Some(9), Some(10)], inner: &[], stops: &[3] };
    template.compose(demand, tokens).map_err(|error| error.to_string())
}

fn property(schema: &str) -> Demand {
    forced(&format!(r#"{{"type":"object","properties":{{"p":{schema}}},"required":["p"]}}"#))
}

#[test]
fn free_request_has_no_grammar() {
    let mut demand = Demand { tool_choice: ToolChoice::Auto, ..forced("{}") };
    assert!(compose(BARE, &demand).unwrap().is_some());
    demand.tools[0].strict = false;
    assert_eq!(compose(BARE, &demand), Ok(None));
}

#[test]
fn template_rules_are_kept_apart_from_server_rules() {
    let template = format!("{BARE}before: input_0? TEXT_PIECE?\ninput_0: \"a\"\nTEXT_PIECE: \"b\"\n");
    let grammar = compose(&template, &property("{}")).unwrap().unwrap();
    assert!(grammar.contains("own_input_0 ? OWN_TEXT_PIECE ?"), "{}", grammar);
    assert!(grammar.contains("\nown_input_0: \"a\"\n") && grammar.contains("\nOWN_TEXT_PIECE: \"b\"\n"));
}

#[test]
fn a_name_reaches_nothing_but_its_place() {
    let mut demand = property("{}");
    demand.tools[0].name = "marker_0\" | \"x".into();
    let json = "call: marker_0 \"{\" json_name \":\" arguments \"}\"\n";
    let grammar = compose(json, &demand).unwrap().unwrap();
    assert!(grammar.contains(r#""{\"marker_0\\\" | \\\"x\":""#), "{}", grammar);
    assert!(compose(BARE, &demand).unwrap_err().contains("the name can't be written in this format"));
}

#[test]
fn shape_refused_by_the_template_is_told_in_its_words() {
    let template = format!("{BARE}%refuse forced this model can't be made to call\n");
    assert_eq!(compose(&template, &property("{}")).unwrap_err(), "this model can't be made to call");
}

#[test]
fn inexpressible_schemas_fail_only_strict_tools() {
    for (schema, words) in [
        (r#"{"type":"string","minLength":3}"#, "`minLength` of a string"),
        (r#"{"type":"string","pattern":"^a"}"#, "`pattern` of a string"),
        (r#"{"allOf":[{}]}"#, "`allOf` can't be followed"),
        (r#"{"oneOf":[{"type":"string"},{"type":["string","null"]}]}"#, "`oneOf`"),
        (r#"{"enum":[{"a":1}]}"#, "can't be written"),
        (r#"{"type":"object","properties":{"a b":{}}}"#, "property \"a b\": the name"),
        (r#"{"type":"object","required":["x"]}"#, "\"x\" is required and not described"),
        (r##"{"$ref":"#/$defs/none"}"##, "the reference"),
        (r#"{"type":"array","minItems":2,"maxItems":1}"#, "fewer items"),
        (r#"{"not":{}}"#, "`not` can't be followed"),
        ("false", "allows nothing"),
        (r#"{"type":"integer","enum":["a"]}"#, "allows nothing"),
        (r#"{"type":"string","anyOf":[{"type":"integer"}]}"#, "`type` beside `anyOf`"),
        (
            r##"{"type":"string","$ref":"#/properties/p/$defs/n","$defs":{"n":{"type":"null"}}}"##,
            "`type` beside `$ref`",
        ),
    ] {
        let mut demand = property(schema);
        let error = compose(BARE, &demand).expect_err(schema);
        assert!(
            error.starts_with("tool \"f\": property \"p\": ") && error.contains(words),
            "{schema}: {error}"
        );
        demand.tools[0].strict = false;
        assert!(compose(BARE, &demand).is_ok(), "{schema}");
    }
}

#[test]
fn stop_may_be_unspellable_text_beside_a_token() {
    let composed = |template: &str, ids: &[Option<u32>]| {
        let template = GrammarTemplate::parse(template, &MARKERS).unwrap_or_else(|error| panic!("{error}"));
        let tokens = MarkerTokens { ids, inner: &[], stops: &[1, 3] };
        template.compose(&property("{}"), tokens).map_err(|error| error.to_string())
    };
    let kept_out = BARE.replace("%value 2", "%value 2 3");
    let (one, none) = ([Some(7), Some(8), Some(9), None], [Some(7), None, Some(9), None]);
    assert!(composed(&kept_out, &one).is_ok());
    assert!(composed(&kept_out, &none).unwrap_err().contains("</call>"));
    assert!(composed(BARE, &one).unwrap_err().contains("<turn>"));
    assert!(composed(&format!("{kept_out}%text text 0\n"), &one).is_err());
    let json = "%value 3\ncall: marker_0 name arguments marker_1\n";
    assert!(composed(json, &one).is_err());
}

#[test]
fn answer_spells_no_text_marker_despite_token_markers() {
    let template = GrammarTemplate::parse(&format!("%tokens\n{BARE}"), &MARKERS).unwrap();
    let answer = Demand { response_schema: Some("{}".into()), ..Demand::default() };
    let grammar = |ids: &[Option<u32>]| {
        template.compose(&answer, MarkerTokens { ids, inner: &[], stops: &[] }).unwrap().unwrap()
    };
    assert!(!grammar(&[Some(7), Some(8), Some(9), Some(10)]).contains("\"pattern\""));
    assert!(grammar(&[Some(7), None, Some(9), Some(10)]).contains("\"pattern\""));
}

#[test]
fn names_beyond_ascii_are_as_long_as_their_bytes() {
    let grammar = |class: &str| {
        let template = BARE.replace("%key 64 /[A-Za-z0-9_]/", &format!("%key 64 {class}"));
        compose(&template, &property("{}")).unwrap().unwrap()
    };
    assert!(grammar("/[a-z]/").contains("/(?:[a-z]){1,64}/"));
    assert!(grammar(r"/\w/").contains(r"/[[:ascii:]&&\w]{1,64}|(?:\w){1,16}/"));
    assert!(grammar("/x|[^y]/").contains("{1,16}/"));
}

#[test]
fn definitions_may_mean_themselves() {
    let tree = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}"##;
    assert!(compose(BARE, &forced(tree)).is_ok());
    let lost = r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##;
    assert!(compose(BARE, &forced(lost)).unwrap_err().contains("nowhere"));
}

#[test]
fn a_large_schema_is_refused_before_it_grows() {
    let wide: Vec<String> = (0..5000).map(|at| format!(r#""p{at}":{{"type":["integer","null"]}}"#)).collect();
    let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, wide.join(","));
    assert!(compose(BARE, &forced(&schema)).unwrap_err().contains("too large"));
}

#[test]
fn template_and_request_that_multiply_are_refused() {
    let long = "x".repeat(60_000);
    let template = format!("call: marker_0 name \"{long}\" arguments marker_1\n");
    let tool = forced("{}").tools.remove(0);
    let named = |at: usize| ToolDefinition { name: format!("f{at}"), ..tool.clone() };
    let demand = |count| Demand { tools: (0..count).map(named).collect(), ..forced("{}") };
    assert!(compose(&template, &demand(60)).is_ok());
    let error = compose(&template, &demand(100)).unwrap_err();
    assert_eq!(error, "its grammar has more than 4194304 bytes, the most that are allowed");
}

/// JSON between markers, and raw values behind a head.
const JSON: &str = "before: (marker_2 text marker_3)?
call: marker_0 gap? \"{\\\"name\\\": \" json_name \", \\\"arguments\\\": \" arguments \"}\" gap? marker_1
";
const RAW: &str = "%value 3
call: marker_0 gap? marker_2 name \">\" gap? parameters gap? marker_1
parameter: \"<\" key \">\" value marker_3 gap?
";

/// The grammar of an envelope, where the markers have these ids.
fn envelope(template: &str, ids: [Option<u32>; 4]) -> String {
    let markers = ["<call>", "</call>", "<f=", "</v>"];
    let template = GrammarTemplate::parse(template, &markers).unwrap_or_else(|error| panic!("{error}"));
    let free = Demand { tool_choice: ToolChoice::Auto, call_form: CallForm::Envelope, ..forced("{}") };
    let tools = free.tools.iter().map(|tool| ToolDefinition { strict: false, ..tool.clone() }).collect();
    let tokens = MarkerTokens { ids: &ids, inner: &[], stops: &[] };
    template.compose(&Demand { tools, ..free }, tokens).unwrap().expect("calls have an envelope")
}

#[test]
fn an_envelope_leaves_all_else_as_it_comes() {
    let tokens = envelope(JSON, [Some(7), Some(8), Some(9), Some(10)]);
    assert!(tokens.starts_with("start:  prose (calls prose)*\n"), "{tokens}");
    assert!(tokens.contains("\nprose: text ((marker_1 | marker_2 | marker_3) text)*\n"), "{tokens}");
    assert!(tokens.contains("\ntext: /(?s:.+)/?\n"), "{tokens}");
    let text = envelope(JSON, [None; 4]);
    assert!(text.contains("\nprose: text\n"), "{text}");
    // A marker behind which no call goes on is quoted.
    assert!(text.contains("\nTEXT_OTHER_0: /<call>[^\\s<\\{]/\n"), "{text}");
}

#[test]
fn only_the_head_of_a_call_is_held_where_text_ends_raw_values() {
    let head = envelope(RAW, [Some(7), Some(8), None, None]);
    assert!(head.contains("\ncalls: (marker_0 gap ?)? call /(?s:.+)/? (marker_1)?\n"), "{head}");
    let whole = envelope(RAW, [Some(7), Some(8), Some(9), Some(10)]);
    assert!(whole.contains("\ncalls: call (gap? call)*\n"), "{whole}");
}
