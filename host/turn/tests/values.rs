//! Typed parameters: what a schema allows, and what becomes of a value's text. The parsers that use
//! them test the rest.

use contract::{Parameter, Segment, Tool, ToolKind, Types};
use serde_json::json;
use turn::values::{Coerced, Schema, coerce, tool};

const ALL: [(&str, Types); 7] = [
    ("null", Types::NULL),
    ("integer", Types::INTEGER),
    ("number", Types::NUMBER),
    ("boolean", Types::BOOLEAN),
    ("object", Types::OBJECT),
    ("array", Types::ARRAY),
    ("string", Types::STRING),
];

fn types(names: &str) -> Types {
    let of = |name| ALL.iter().find(|(known, _)| *known == name).expect("a type's name").1;
    names.split_whitespace().map(of).fold(Types::NONE, Types::or)
}

/// The types of a parameter with this schema.
fn of(schema: &serde_json::Value) -> Types {
    Schema::parse(&json!({"type": "object", "properties": {"p": schema}}).to_string()).types("p")
}

#[test]
fn a_type_is_named_or_listed() {
    for (name, expected) in ALL {
        assert_eq!(of(&json!({"type": name})), expected, "{name}");
    }
    assert_eq!(of(&json!({"type": ["integer", "null"]})), types("integer null"));
}

#[test]
fn types_may_have_pythons_names() {
    let names = [
        ("int", Types::INTEGER),
        ("float", Types::NUMBER),
        ("double", Types::NUMBER),
        ("bool", Types::BOOLEAN),
        ("dict", Types::OBJECT),
        ("Dict[str, Any]", Types::OBJECT),
        ("list", Types::ARRAY),
        ("List[int]", Types::ARRAY),
        ("tuple", Types::ARRAY),
        ("str", Types::STRING),
        ("None", Types::NULL),
    ];
    for (name, expected) in names {
        assert_eq!(of(&json!({"type": name})), expected, "{name}");
    }
    assert_eq!(of(&json!({"type": ["float", "null"]})), types("number null"));
}

#[test]
fn values_say_their_types() {
    assert_eq!(
        of(&json!({"enum": ["a", 1, 2.5, null, true, [], {}]})),
        types("string integer number null boolean array object")
    );
    assert_eq!(of(&json!({"const": 1})), Types::INTEGER);
    assert_eq!(of(&json!({"type": "string", "enum": ["a", 1]})), Types::STRING);
}

#[test]
fn combinations_widen_and_narrow() {
    assert_eq!(of(&json!({"anyOf": [{"type": "string"}, {"type": "null"}]})), types("string null"));
    assert_eq!(of(&json!({"oneOf": [{"type": "integer"}, {"enum": [true]}]})), types("integer boolean"));
    assert_eq!(
        of(&json!({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]})),
        Types::INTEGER
    );
    assert_eq!(of(&json!({"type": "number", "allOf": [{"type": "integer"}]})), Types::INTEGER);
    assert_eq!(of(&json!({"anyOf": [{}, {"type": "null"}]})), types("string null"));
}

#[test]
fn what_says_nothing_is_a_string() {
    let silent = [
        json!({}),
        json!(true),
        json!(5),
        json!({"type": "text"}),
        json!({"description": "x"}),
        json!({"type": "string", "const": 1}),
    ];
    for schema in silent {
        assert_eq!(of(&schema), Types::STRING, "{schema}");
    }
    assert_eq!(Schema::default().types("p"), Types::STRING);
    assert_eq!(Schema::parse("not json").types("p"), Types::STRING);
}

#[test]
fn keywords_of_one_type_imply_it() {
    assert_eq!(of(&json!({"properties": {}})), Types::OBJECT);
    assert_eq!(of(&json!({"items": {}})), Types::ARRAY);
}

#[test]
fn local_references_are_followed_to_any_place() {
    let schema = Schema::parse(
        r##"{"$ref": "#/$defs/Root", "$defs": {"Root": {"properties": {"a": {"$ref": "#/$defs/x~1y"}, "b": {"$ref": "other.json"}}}, "x/y": {"type": "array"}}}"##,
    );
    assert_eq!(schema.types("a"), Types::ARRAY);
    assert_eq!(schema.types("b"), Types::STRING);
}

#[test]
fn references_are_fragments_of_uris() {
    let of = |reference: &str, key: &str| {
        let schema = json!({"properties": {"p": {"$ref": reference}}, "$defs": {key: {"type": "integer"}}});
        Schema::parse(&schema.to_string()).types("p")
    };
    for (reference, key) in [
        ("#/$defs/x%20y", "x y"),
        ("#/%24defs/gr%C3%B6%C3%9Fe", "größe"),
        ("#/$defs/a~1b~0c", "a/b~c"),
        ("#/$defs/a%7E1b", "a/b"),
        ("#/$defs/100%25", "100%"),
        ("#/$defs/100% sure", "100% sure"),
        ("#/$defs/größe%", "größe%"),
    ] {
        assert_eq!(of(reference, key), Types::INTEGER, "{reference}");
    }
    assert_eq!(of("#/$defs/%FF", "x"), Types::STRING);
}

#[test]
fn parameters_of_combined_objects_are_found() {
    let schema = Schema::parse(
        r#"{"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"type": "null"}}}], "additionalProperties": {"type": "boolean"}}"#,
    );
    assert_eq!(schema.types("a"), types("integer null"));
    assert_eq!(schema.types("other"), Types::BOOLEAN);
}

#[test]
fn circles_and_wide_schemas_are_left_in_time() {
    let circle = r##"{"properties": {"p": {"$ref": "#/properties/p"}}}"##;
    assert_eq!(Schema::parse(circle).types("p"), Types::STRING);
    let branches: Vec<_> = (0..64).map(|_| json!({"$ref": "#/$defs/X"})).collect();
    let exploding = json!({"properties": {"p": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"anyOf": branches}}});
    assert_eq!(Schema::parse(&exploding.to_string()).types("p"), Types::STRING);
}

#[test]
fn a_schema_too_deep_or_too_large_is_none() {
    let deep = |depth: usize| {
        format!(
            r#"{{"properties": {{"p": {{"type": "integer"}}, "q": {}{}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    assert_eq!(Schema::parse(&deep(62)).types("p"), Types::INTEGER);
    assert_eq!(Schema::parse(&deep(63)).types("p"), Types::STRING);
    assert_eq!(Schema::parse(&deep(100_000)).types("p"), Types::STRING);
    let large = |bytes: usize| {
        format!(r#"{{"properties": {{"p": {{"type": "integer"}}}}, "x": "{}"}}"#, "x".repeat(bytes))
    };
    assert_eq!(Schema::parse(&large(200 << 10)).types("p"), Types::INTEGER);
    assert_eq!(Schema::parse(&large(256 << 10)).types("p"), Types::STRING);
    let brackets_in_strings =
        format!(r#"{{"properties": {{"p": {{"type": "integer", "pattern": "\"{}"}}}}}}"#, "[".repeat(100));
    assert_eq!(Schema::parse(&brackets_in_strings).types("p"), Types::INTEGER);
}

#[test]
fn text_that_is_json_of_an_allowed_type_is_unchanged() {
    let cases = [
        ("null", "null"),
        ("integer", "-12"),
        ("integer", "123456789012345678901234567890"),
        ("number", "5.0"),
        ("number", "5"),
        ("number", "-1.5e-3"),
        ("boolean", " true\n"),
        ("object", " {\"a\": [1, {\"b\": null}]}"),
        ("array", "[]"),
    ];
    for (name, text) in cases {
        assert_eq!(coerce(text, types(name)), Coerced::Verbatim, "{name} {text}");
    }
}

#[test]
fn an_integer_stays_as_it_is_however_long() {
    for digits in [64, 65, 100, 400, 4095] {
        let text = format!("-{}", "7".repeat(digits));
        assert_eq!(coerce(&text, types("integer")), Coerced::Verbatim, "{digits}");
    }
    assert_eq!(coerce(&"7".repeat(4097), types("integer")), Coerced::Text);
    assert_eq!(coerce(&"7".repeat(400), types("number")), Coerced::Text, "no double");
    assert_eq!(coerce(&format!("{}.0", "7".repeat(400)), types("integer")), Coerced::As("7".repeat(400)));
}

#[test]
fn other_spellings_of_a_type_become_its_json() {
    let cases = [
        ("null", "None", "null"),
        ("null", "NULL", "null"),
        ("boolean", "True", "true"),
        ("boolean", "FALSE", "false"),
        ("integer", "5.0", "5"),
        ("integer", "-0.00", "-0"),
        ("integer", "1e3", "1000"),
        ("integer", "2.5E1", "25"),
        ("integer", "9.007199254740993e15", "9007199254740993"),
        ("integer", "-1.0e30", "-1000000000000000000000000000000"),
        ("integer", "1200e-2", "12"),
        ("integer number", "0.0e-400", "0"),
        ("integer number", "7.0", "7"),
    ];
    for (name, text, expected) in cases {
        assert_eq!(coerce(text, types(name)), Coerced::As(expected.into()), "{name} {text}");
    }
}

#[test]
fn a_number_is_as_the_model_wrote_it() {
    for number in ["1e-400", "0.1000", "1E+5", "12345678901234567890.123456789"] {
        assert_eq!(coerce(number, types("number")), Coerced::Verbatim, "{number}");
    }
    assert_eq!(coerce("1e-400", types("integer number")), Coerced::Verbatim);
    assert_eq!(coerce("9.007199254740993e15", types("number")), Coerced::Verbatim);
}

#[test]
fn anything_else_is_a_string() {
    let cases = [
        ("integer", "5.5"),
        ("integer", "007"),
        ("integer", "+5"),
        ("integer", "true"),
        ("integer", ""),
        ("number", "inf"),
        ("number", "NaN"),
        ("number", "1e999"),
        ("integer", "1e-400"),
        ("integer", "1e4097"),
        ("integer", "1e99999999999999999999"),
        ("integer", "12e-1"),
        ("number", "1_000"),
        ("boolean", "1"),
        ("boolean", "yes"),
        ("null", "nil"),
        ("object", "[]"),
        ("object", "{'a': 1}"),
        ("array", "[1, 2"),
        ("array", "[\"\n\"]"),
        ("string", "5"),
        ("string", "null"),
    ];
    for (name, text) in cases {
        assert_eq!(coerce(text, types(name)), Coerced::Text, "{name} {text}");
    }
}

#[test]
fn precedence_decides_among_several_types() {
    let all = ALL.iter().map(|(_, one)| *one).fold(Types::NONE, Types::or);
    for text in ["null", "5", "5.5", "true", "{}", "[]"] {
        assert_eq!(coerce(text, all), Coerced::Verbatim, "{text}");
    }
    assert_eq!(coerce("5.0", all), Coerced::As("5".into()));
    assert_eq!(coerce("five", all), Coerced::Text);
    assert_eq!(coerce("5", types("string boolean")), Coerced::Text);
}

fn function(schema: &serde_json::Value) -> Tool {
    tool("f", ToolKind::Function, &schema.to_string())
}

fn listed(parameters: &[(&str, Types)]) -> Vec<Parameter> {
    let parameter = |(name, types): &(&str, Types)| Parameter { name: (*name).into(), types: *types };
    parameters.iter().map(parameter).collect()
}

#[test]
fn parameters_are_those_of_the_schema_and_its_parts() {
    let combined = function(&json!({
        "properties": {"b": {"type": "integer"}, "a": {}},
        "anyOf": [{"properties": {"c": {"type": "null"}, "b": {"type": "null"}}}, {"$ref": "#/$defs/d"}],
        "$defs": {"d": {"properties": {"c": {"type": "array"}}}},
        "additionalProperties": {"type": "boolean"},
    }));
    let expected = [("b", Types::INTEGER), ("a", Types::STRING), ("c", types("null array"))];
    assert_eq!(combined.parameters, listed(&expected));
    assert_eq!(combined.others, Types::BOOLEAN);
    let others = |schema| function(&schema).others;
    assert_eq!(others(json!({"additionalProperties": false})), Types::NONE);
    assert_eq!(others(json!({"additionalProperties": true})), Types::STRING);
    assert_eq!(others(json!({})), Types::STRING);
    let custom = tool("f", ToolKind::Custom, r#"{"properties": {"a": {}}}"#);
    assert_eq!(custom.parameters, []);
}

#[test]
fn a_hostile_schema_is_listed_in_time_and_in_bounds() {
    let branches: Vec<_> = (0..64).map(|_| json!({"$ref": "#/$defs/X"})).collect();
    let property = json!({"$ref": "#/$defs/X"});
    let properties: serde_json::Map<_, _> =
        (0..4000).map(|at| (format!("p{at}"), property.clone())).collect();
    let hostile =
        json!({"properties": properties, "anyOf": [{"$ref": "#"}], "$defs": {"X": {"anyOf": branches}}});
    assert_eq!(function(&hostile).parameters.len(), 1024);
}

#[test]
fn places_inside_values_have_their_own_types() {
    let schema = Schema::parse(
        r##"{"properties": {"stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}}, "pair": {"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}},
            "$defs": {"stop": {"anyOf": [{"type": "null"}, {"properties": {"days": {"type": "integer"}}}]}}}"##,
    );
    let key = |name: &str| Segment::Key(name.into());
    let at = |path: &[Segment]| schema.types_at(path);
    assert_eq!(at(&[key("stops"), Segment::Item(3), key("days")]), Types::INTEGER);
    assert_eq!(at(&[key("stops"), Segment::Item(0), key("other")]), Types::STRING);
    assert_eq!(at(&[key("pair"), Segment::Item(0)]), Types::INTEGER);
    assert_eq!(at(&[key("pair"), Segment::Item(1)]), Types::BOOLEAN);
    assert_eq!(at(&[key("unknown"), key("days")]), Types::STRING);
    assert_eq!(at(&[]), Types::STRING);
}
