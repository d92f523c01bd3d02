//! Tests of what compilers of schemas follow: for each schema the keyword that llama.cpp's and
//! xgrammar's don't follow, or none.

use serde_json::{Value, json};

use super::{SchemaCompiler, SchemaGaps};

/// The keywords that llama.cpp's compiler and xgrammar don't follow.
fn gaps(schema: &Value) -> [Option<String>; 2] {
    let gaps = SchemaGaps::of(&schema.to_string());
    assert_eq!(gaps.for_compiler(SchemaCompiler::Llguidance), None);
    let keyword = |compiler| {
        gaps.for_compiler(compiler).map(|gap| gap.split('"').nth(1).expect("a keyword in quotes").to_owned())
    };
    [keyword(SchemaCompiler::LlamaCpp), keyword(SchemaCompiler::Xgrammar)]
}

#[test]
fn what_both_compilers_follow_has_no_gap() {
    let person = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Person", "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 9, "description": "a name" },
            "kind": { "enum": ["a", "b"], "type": "string" },
            "version": { "const": 1 },
            "age": { "type": ["integer", "null"], "minimum": 0, "maximum": 150 },
            "born": { "type": "string", "format": "date" },
            "code": { "type": "string", "pattern": "^[A-Z]{2}-(a|b)+$" },
            "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 3, "uniqueItems": false },
            "parent": { "anyOf": [{ "$ref": "#/$defs/parent" }, { "type": "null" }], "default": null },
            "enum": { "type": "boolean" },
            "free": {},
        },
        "required": ["name", "kind"], "additionalProperties": false,
        "$defs": { "parent": { "type": "object", "properties": { "name": { "type": "string" } } } },
    });
    assert_eq!(gaps(&person), [None, None]);
    for void in
        [json!({ "type": "array", "minItems": 0 }), json!({ "type": "string", "minimum": 3 }), json!(true)]
    {
        assert_eq!(gaps(&void), [None, None], "{void}");
    }
}

#[test]
fn what_a_compiler_passes_over_is_named() {
    const BOTH: [&str; 2] = ["llama.cpp", "xgrammar"];
    let cases = [
        (json!({ "type": "array", "items": {}, "uniqueItems": true }), "uniqueItems", &BOTH[..]),
        (json!({ "type": "array", "contains": { "const": 1 } }), "contains", &BOTH),
        (json!({ "type": "integer", "multipleOf": 3 }), "multipleOf", &BOTH),
        (json!({ "type": "object", "patternProperties": { "^a": {} } }), "patternProperties", &BOTH),
        (json!({ "type": "object", "minProperties": 1 }), "minProperties", &BOTH),
        (json!({ "type": "object", "propertyNames": { "type": "string" } }), "propertyNames", &BOTH),
        (json!({ "type": "object", "required": ["a"] }), "required", &BOTH),
        (json!({ "minimum": 3 }), "minimum", &BOTH),
        (json!({ "not": { "type": "string" } }), "not", &BOTH),
        (json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 3 }] }), "oneOf", &BOTH),
        (json!({ "allOf": [{ "type": "string" }] }), "allOf", &BOTH),
        (json!({ "type": "string", "pattern": "^a$", "minLength": 3 }), "minLength", &BOTH),
        (json!({ "type": "string", "format": "color" }), "format", &BOTH),
        (json!({ "$ref": "#/$defs/a", "minimum": 1, "$defs": { "a": {} } }), "minimum", &BOTH),
        (json!({ "anyOf": [{}], "type": "string" }), "type", &BOTH),
        (json!({ "enum": ["a", 1], "type": "string" }), "type", &BOTH),
        (json!({ "enum": ["a", "bb"], "minLength": 2 }), "minLength", &BOTH),
        (json!({ "type": "number", "minimum": 0.5 }), "minimum", &BOTH[..1]),
        (json!({ "type": ["number", "string"], "maximum": 1 }), "maximum", &BOTH[..1]),
        (json!({ "type": "string", "format": "ipv4" }), "format", &BOTH[..1]),
        (json!({ "type": "array", "prefixItems": [{}], "minItems": 2 }), "minItems", &BOTH[..1]),
        (json!({ "minLength": 2 }), "minLength", &BOTH[1..]),
        (json!({ "type": "string", "pattern": "^a$", "format": "date" }), "pattern", &BOTH[1..]),
    ];
    for (schema, keyword, compilers) in cases {
        let expected = BOTH.map(|compiler| compilers.contains(&compiler));
        let [llamacpp, xgrammar] = gaps(&schema).map(|gap| gap.as_deref() == Some(keyword));
        assert_eq!([llamacpp, xgrammar], expected, "{schema}: {:?}", gaps(&schema));
        // It is found at any depth.
        let below = json!({ "type": "object", "properties": { "a": { "type": "array", "items": schema } } });
        assert_eq!(gaps(&below).map(|gap| gap.as_deref() == Some(keyword)), expected, "{below}");
    }
    let place = SchemaGaps::of(r#"{"properties":{"a":{"items":[{},{"multipleOf":2}]}}}"#);
    let place = place.for_compiler(SchemaCompiler::LlamaCpp);
    assert_eq!(place, Some("\"multipleOf\" at #/properties/a/items/1/multipleOf"));
}

#[test]
fn patterns_llamacpp_takes_for_any_string_are_named() {
    let pattern = |pattern: &str| {
        let [llamacpp, xgrammar] = gaps(&json!({ "type": "string", "pattern": pattern }));
        assert_eq!(xgrammar, None, "{pattern}");
        llamacpp.is_none()
    };
    for followed in
        ["^abc$", "^[a-z0-9_\\-]+$", "^(?:a|b){2,3}c?$", "^\\(\\.\\)$", "^.*$", "^\\x41\\u00e4$", "^$"]
    {
        assert!(pattern(followed), "{followed}");
    }
    let others = [
        "abc",
        "^abc",
        "abc$",
        "^\\d+$",
        "^[\\w]$",
        "^(?=a)b$",
        "^a^b$",
        "^\\bword$",
        "^a}$",
        "^a{x}$",
        "^(a$",
        "^a)$",
        "^[a$",
        "^\\x4$",
        "^a/\\/$",
    ];
    for other in others {
        assert!(!pattern(other), "{other}");
    }
}
