//! What request data can and can't do to the pieces of a grammar. That grammars mean what they
//! should is shown by `tests/tests/grammars`.

use contract::ToolKind;

use super::{
    DeclaredParameter, DemandedTurn, InputForm, Lark, Markers, ParameterList, Spelling, Value, literal,
    parameter_list,
};
use crate::{Demand, TextGrammar, ToolChoice, ToolDefinition};

fn strict(schema: &str) -> Demand {
    let tool = ToolDefinition {
        name: "f".into(),
        kind: ToolKind::Function,
        schema: schema.into(),
        strict: true,
        grammar: None,
    };
    Demand { tools: vec![tool], parallel_tool_calls: true, ..Demand::default() }
}

/// A call of the strict tool `f` with this schema is required.
pub(crate) fn forced(schema: &str) -> Demand {
    Demand { tool_choice: ToolChoice::Required, ..strict(schema) }
}

fn lark() -> Lark {
    Lark::new(&["<a>", "</a>"], Markers { tokens: &[], have_to_be: false, quoted: &[] }, vec![0, 1])
        .expect("text can be kept from spelling them")
}

/// The parameters of the request's one tool, in a format of pairs: each, or any of them.
fn written(demand: &Demand) -> Result<String, String> {
    let write = |key: &str, value: &Value<'_>| match value {
        Value::Text(text) | Value::Input(text) => format!("{key}={text}"),
        Value::Exactly(text) | Value::Json(text) => format!("{key}={text}"),
    };
    let fits = |_: &str| true;
    let spelling = Spelling { text: "text", markers: &[0, 1], fits: &fits, write: &write };
    let turn = DemandedTurn::of(demand, InputForm::Other)?.expect("something is demanded");
    Ok(match parameter_list(&lark(), &turn.tools[0], &spelling, false)? {
        ParameterList::Any(one) => format!("({one})*"),
        ParameterList::Free(all) => format!("({})*", all.join(" | ")),
        ParameterList::Declared(all) => {
            all.into_iter().map(DeclaredParameter::or_nothing).collect::<Vec<_>>().join(" ")
        }
    })
}

fn refusal(property: &str) -> String {
    let schema = format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#);
    written(&strict(&schema)).expect_err("can't be expressed")
}

#[test]
fn names_stay_inside_their_quotes() {
    assert_eq!(literal("a\"\nstart: /.*/"), r#""a\"\u000astart: /.*/""#);
    assert_eq!(literal("\\\u{7f}"), r#""\\\u007f""#);
}

#[test]
fn a_schema_cannot_loosen_itself() {
    let demand = strict(r#"{"type":"object","x-guidance":{"lenient":true,"item_separator":".*"}}"#);
    let json = DemandedTurn::of(&demand, InputForm::Other).unwrap().unwrap().tools[0].arguments.json();
    assert!(json.contains(r#""lenient":false"#) && !json.contains("item_separator"), "{json}");
}

#[test]
fn optional_parameters_may_be_left_out() {
    let schema = r#"{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}"#;
    assert_eq!(written(&strict(schema)).unwrap(), r#""a"=text ("b"=INTEGER)?"#);
}

#[test]
fn values_read_back_as_something_else_are_refused() {
    assert!(refusal(r#"{"enum":["1",2]}"#).contains("\"1\""));
    assert!(refusal(r#"{"enum":["<a>"]}"#).contains("<a>"));
    assert!(refusal(r#"{"enum":["line\n"]}"#).contains("line"));
}

#[test]
fn conditions_on_raw_strings_are_refused() {
    let error = refusal(r#"{"type":"string","minLength":3}"#);
    assert!(error.contains("\"f\"") && error.contains("\"p\""), "{error}");
    assert!(refusal(r#"{"anyOf":[{"type":"string"},{"type":"object","required":["x"]}]}"#).contains("\"p\""));
}

#[test]
fn keywords_beside_properties_fail_only_if_strict() {
    let schema = r#"{"type":"object","properties":{"p":{"type":"string"}},"anyOf":[{"required":["p"]}]}"#;
    let mut demand = strict(schema);
    assert!(written(&demand).unwrap_err().contains("anyOf"));
    demand.tools[0].strict = false;
    demand.tool_choice = ToolChoice::Required;
    assert_eq!(written(&demand).unwrap(), "(key=text)*");
}

#[test]
fn joined_properties_are_refused_for_text_markers() {
    let object = |key: &str| format!(r#"{{"type":"object","properties":{{"{key}":{{"type":"string"}}}}}}"#);
    let (a, b) = (object("a"), object("b"));
    let said = |keyword: &str, place: &str| {
        format!(
            "\"{keyword}\" joins properties of several schemas, which can't be kept from spelling markers, at #{place}"
        )
    };
    for (schema, keyword, place) in [
        (format!(r#"{{"allOf":[{a},{b}]}}"#), "allOf", "/allOf"),
        (format!(r#"{{"type":"object","properties":{{"a":{{}}}},"allOf":[{b}]}}"#), "allOf", "/allOf"),
        (format!(r#"{{"type":"array","items":{{"allOf":[{a},{b}]}}}}"#), "allOf", "/items/allOf"),
        (format!(r#"{{"anyOf":[{{"type":"null"}},{{"allOf":[{a},{b}]}}]}}"#), "allOf", "/anyOf/1/allOf"),
        (format!(r#"{{"properties":{{"x":{{}}}},"oneOf":[{a},{b}]}}"#), "oneOf", "/oneOf"),
    ] {
        let reason = refusal(&schema);
        assert!(reason.contains(&said(keyword, place)), "{schema}: {reason}");
    }
    for schema in [
        format!(r#"{{"allOf":[{a}]}}"#),
        format!(r#"{{"anyOf":[{a},{b}]}}"#),
        format!(r#"{{"allOf":[{a},{{"required":["a"]}}]}}"#),
        r#"{"type":"array","items":{"allOf":[{"type":"string"},{"minLength":2}]}}"#.to_owned(),
    ] {
        let whole = format!(r#"{{"type":"object","properties":{{"p":{schema}}}}}"#);
        written(&strict(&whole)).unwrap_or_else(|reason| panic!("{schema}: {reason}"));
    }
}

#[test]
fn references_are_followed_within_the_schema_only() {
    let schema = r##"{"$ref":"#/$defs/all","$defs":{"all":{"properties":{"n":{"$ref":"#/$defs/n"}}},"n":{"type":"integer"}}}"##;
    assert_eq!(written(&strict(schema)).unwrap(), r#"("n"=INTEGER)?"#);
    assert!(refusal(r##"{"$ref":"#/properties/p"}"##).contains("nowhere"));
    assert!(refusal(r#"{"$ref":"https://example.com/s"}"#).contains("example.com"));
}

#[test]
fn keys_that_markup_might_swallow_are_refused() {
    let schema = r#"{"properties":{"a>b":{"type":"string"}}}"#;
    assert!(written(&strict(schema)).unwrap_err().contains("a>b"));
}

/// The grammar of a call of one custom tool, whose input has this definition and ends at a token,
/// or else at text.
fn input(syntax: &str, definition: &str, ends_at_token: bool) -> Result<String, String> {
    let demand = patch(syntax, definition);
    let mut lark = lark();
    let turn = DemandedTurn::of(&demand, InputForm::Raw)?.expect("a grammar is to be followed");
    let rules: Vec<&str> = turn.inputs().map(super::input::Input::rule).collect();
    for input in turn.inputs() {
        if ends_at_token {
            lark.input(input);
        } else {
            lark.input_before(input, 1, &[0, 1])?;
        }
    }
    Ok(lark.start(&rules.join(" ")))
}

/// A request with a custom tool, whose input has this grammar.
fn patch(syntax: &str, definition: &str) -> Demand {
    let grammar = TextGrammar { syntax: syntax.into(), definition: definition.into() };
    let tool = ToolDefinition {
        name: "patch".into(),
        kind: ToolKind::Custom,
        schema: String::new(),
        strict: false,
        grammar: Some(grammar),
    };
    Demand { tools: vec![tool], ..Demand::default() }
}

#[test]
fn input_ending_at_a_token_is_its_own_grammar() {
    let grammar =
        input("lark", "?start: a+ -> all // end\n%import common.LF\na: \"}\" | LF\n", true).unwrap();
    assert!(grammar.starts_with("start: input_0\n"), "{grammar}");
    let nested = "input_0: %lark {\n%import common.LF -> LF\na: \"}\" | LF\nstart: a +\n}\n";
    assert!(grammar.ends_with(nested), "{grammar}");
}

#[test]
fn input_ending_at_text_is_a_terminal_without_markers() {
    let grammar = input("lark", "start: A b? A\nb: \"x\"\nA: /y*/i\n", false).unwrap();
    let flat = "INPUT_0_T_A: /y*/i\nINPUT_0_R_B: \"x\"\nINPUT_0_R_START: INPUT_0_T_A INPUT_0_R_B ? INPUT_0_T_A\n\
        INPUT_0_SPELLS: /(?s:.*)/ (\"<a>\" | \"</a>\") /(?s:.*)/\n\
        INPUT_0_WHOLE: (INPUT_0_R_START & ~INPUT_0_SPELLS) MARKER_1\ninput_0: INPUT_0_WHOLE\n";
    assert!(grammar.ends_with(flat), "{grammar}");
}

#[test]
fn a_regular_expression_stays_between_its_slashes() {
    let grammar = input("regex", "a/\nstart: /b\\/[/]", true).unwrap();
    assert!(grammar.contains("start: /a\\/\nstart: \\/b\\/[\\/]/\n}"), "{grammar}");
}

#[test]
fn what_a_definition_may_not_say_is_named() {
    for (definition, word) in [
        ("start: <|im_end|>", "line 1: \"<|im_end|>\""),
        ("start: \"a\" }\nx: \"b\"", "`}`"),
        ("%llguidance {}\nstart: \"a\"", "%llguidance"),
        ("start: (\"x\")?b\nb: \"b\"", "?b"),
        ("start: \"a\" // never closed \n(", "a rule"),
        ("start: /(?P<stop>a)/", "stop"),
        ("start: \"a\"~3..2", "ends before it begins"),
        ("start: \"a\" ~ 70000", "70000"),
    ] {
        let error = input("lark", definition, true).unwrap_err();
        assert!(error.contains("\"patch\"") && error.contains(word), "{definition}: {error}");
    }
    assert!(input("lark", &format!("start: {}", "(".repeat(200_000)), true).is_err());
    assert!(input("lark", &format!("start: {}\"a\"{}", "(".repeat(30), ")".repeat(30)), true).is_err());
}

#[test]
fn a_long_chain_of_rules_is_read_in_no_time() {
    let chain: Vec<String> = (0..3000).map(|index| format!("r{index}: r{}", index + 1)).collect();
    let chain = format!("start: r0\n{}\nr3000: \"x\"", chain.join("\n"));
    assert!(input("lark", &chain, false).unwrap().contains("INPUT_0_R_R2999: INPUT_0_R_R3000\n"));
}

#[test]
fn a_recursive_input_that_ends_at_text_is_refused() {
    let sums = "start: \"(\" start \")\" | \"x\"";
    assert!(input("lark", sums, true).is_ok());
    assert!(input("lark", sums, false).unwrap_err().contains("recursive"));
}

#[test]
fn input_grammars_are_ignored_for_strings_or_no_calls() {
    let mut demand = patch("lark", "(");
    assert!(DemandedTurn::of(&demand, InputForm::Other).unwrap().is_none());
    demand.tool_choice = ToolChoice::None;
    assert!(DemandedTurn::of(&demand, InputForm::Raw).unwrap().is_none());
}

#[test]
fn what_parameters_take_to_write_is_bounded() {
    let listed: Vec<String> = (0..1000).map(|at| format!("{{\"const\":{at}}}")).collect();
    let definition = format!(r#"{{"type":"array","items":{{"anyOf":[{}]}}}}"#, listed.join(","));
    let schema = |count: usize| {
        let property = |at: usize| format!(r##""p{at}":{{"$ref":"#/$defs/long"}}"##);
        let properties: Vec<String> = (0..count).map(property).collect();
        format!(r#"{{"properties":{{{}}},"$defs":{{"long":{definition}}}}}"#, properties.join(","))
    };
    assert!(written(&strict(&schema(10))).is_ok());
    assert!(written(&strict(&schema(1000))).unwrap_err().contains("takes too much to write"));
    let plain: Vec<String> = (0..1025).map(|at| format!("\"p{at}\":{{}}")).collect();
    let many = format!("{{\"properties\":{{{}}}}}", plain.join(","));
    assert!(written(&strict(&many)).unwrap_err().contains("more than 1024 parameters"));
}
