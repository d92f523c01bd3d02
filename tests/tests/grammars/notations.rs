//! Formats that spell JSON in a notation of their own, or say of each value whether it is a string:
//! what their templates allow, text by text.

use grammar::{Demand, GrammarTemplate, MarkerTokens, ToolChoice};
use parsers::conformance::walk::{Walker, ids};

use super::requests::{of, strict, tool};

/// A format: the literals of its markers, all of which are tokens, and its template.
struct Notation {
    literals: &'static [&'static str],
    template: &'static str,
}

/// Bare keys, and strings between markers.
const BARE_KEYS: Notation = Notation {
    literals: &["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|\"|>", "<turn|>", "<|turn>"],
    template: r#"
%name 128 /[^\s{}]/
%key 128 /[^\s:,{}\[\]]/
%value 4
before: (marker_6 "model\n")? (gap? marker_0 "thought\n" text marker_1)?
call: marker_2 "call:" name arguments marker_3
object: "{" members "}"
pair: key ":" value
list: "[" items "]"
string: marker_4 chars marker_4
"#,
};
/// Calls as Python writes them.
const PYTHON: Notation = Notation {
    literals: &["<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"],
    template: r#"
%name 64 /[A-Za-z0-9_.]/
%key 64 /[A-Za-z0-9_]/
section: marker_0 "[" calls "]" marker_1
more: ", "
call: name "(" parameters ")"
comma: ", "
parameter: key "=" value
object: "{" members "}"
pair: json_key ": " value
list: "[" items "]"
true: "True"
false: "False"
null: "None"
"#,
};
/// Elements named after their keys, in which other elements stand.
const ELEMENTS: Notation = Notation {
    literals: &["<mm:think>", "</mm:think>", "]<]minimax[>[", "]~b]", "[e~["],
    template: include_str!("../../../plugins/minimax-m3/src/grammar.lark"),
};
/// Parameters with an attribute that says whether the value is a string.
const TYPED: Notation = Notation {
    literals: &["<D>", "</D>", "<invoke", "</invoke>", "<parameter", "</parameter>", "<end>"],
    template: r#"
%name 128 /[^\s<>"]/
%value 1 3 5
%typed
section: marker_0 "\n" calls marker_1
more: ""
call: marker_2 " name=\"" name "\">\n" parameters marker_3 "\n"
raw: marker_4 " name=\"" key "\" string=\"true\">" value marker_5 "\n"
exact: marker_4 " name=\"" key "\" string=\"true\">" value marker_5 "\n"
json: marker_4 " name=\"" key "\" string=\"false\">" value marker_5 "\n"
"#,
};

const WEATHER: &str = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
    "unit":{"enum":["C","F"]},"when":{"anyOf":[{"type":"null"},{"type":"object","properties":{"from":{"type":"number"},
    "all":{"type":"boolean"}}}]},"tags":{"type":"array","items":{"type":"string"},"maxItems":2}},"required":["city"]}"#;

impl Notation {
    fn walker(&self, request: &Demand) -> Walker {
        let literals: Vec<String> = self.literals.iter().map(|text| (*text).to_owned()).collect();
        let template =
            GrammarTemplate::parse(self.template, &literals).unwrap_or_else(|error| panic!("{error}"));
        let are_tokens = vec![true; literals.len()];
        let markers: Vec<_> = ids(&are_tokens).collect();
        let tokens = MarkerTokens { ids: &markers, inner: &[], stops: &[] };
        let grammar = template.compose(request, tokens).expect("it can be followed").expect("it is demanded");
        Walker::new(&grammar, &literals, &are_tokens).unwrap_or_else(|error| panic!("{error}\n{}", grammar))
    }

    /// Checks which whole turns the grammar allows.
    fn check<S: AsRef<str>>(&self, request: &Demand, allowed: &[S], refused: &[S]) {
        let walker = self.walker(request);
        let accepts = |text: &S| walker.accepts(&[(true, text.as_ref().to_owned())]).is_some();
        for text in allowed {
            assert!(accepts(text), "{} is refused", text.as_ref());
        }
        for text in refused {
            assert!(!accepts(text), "{} is allowed", text.as_ref());
        }
    }
}

fn required(schema: &str) -> Demand {
    of(vec![strict("get_weather", schema)], ToolChoice::Required)
}

/// A call of the one tool, whose arguments are these members.
fn in_call(members: &str) -> String {
    format!("<|tool_call>call:get_weather{{{members}}}<tool_call|>")
}

#[test]
fn bare_keys_and_strings_between_markers() {
    let allowed = [
        "city:<|\"|>Oslo<|\"|>",
        "city:<|\"|>a \"b\", {c}\n<|\"|>,days:3",
        "city:<|\"|><|\"|>,days:-12,unit:<|\"|>F<|\"|>,when:null,tags:[]",
        "city:<|\"|>x<|\"|>,when:{from:1.5,all:true},tags:[<|\"|>a<|\"|>,<|\"|>b<|\"|>]",
        "city:<|\"|>x<|\"|>,when:{all:false}",
        "city:<|\"|>x<|\"|>,when:{}",
    ];
    let refused = [
        "",
        "days:3",
        "city:Oslo",
        "city:\"Oslo\"",
        "city:<|\"|>x<|\"|>,",
        ",city:<|\"|>x<|\"|>",
        "city:<|\"|>x<|\"|>,unit:<|\"|>K<|\"|>",
        "city:<|\"|>x<|\"|>,days:3.5",
        "city:<|\"|>x<|\"|>,tags:[<|\"|>a<|\"|>,<|\"|>b<|\"|>,<|\"|>c<|\"|>]",
        "city:<|\"|>x<|\"|>,other:1",
        "days:3,city:<|\"|>x<|\"|>",
    ];
    BARE_KEYS.check(&required(WEATHER), &allowed.map(in_call), &refused.map(in_call));
}

/// A turn with a call of the one tool, whose arguments are these elements; `N` stands for the
/// marker before a tag.
fn in_element(elements: &str) -> String {
    format!("N<tool_call>\nN<invoke name=\"get_weather\">{elements}N</invoke>\nN</tool_call>")
        .replace('N', "]<]minimax[>[")
}

#[test]
fn elements_named_after_their_keys() {
    let allowed = [
        "N<city>OsloN</city>",
        "N<city>a <city> \n\"b\"N</city>N<days>3N</days>",
        "N<city>N</city>N<unit>FN</unit>N<when>nullN</when>N<tags>N</tags>",
        "N<city>xN</city>N<when>N<from>1.5N</from>N<all>trueN</all>N</when>N<tags>N<item>aN</item>N<item>bN</item>N</tags>",
    ];
    let refused = [
        "",
        "N<days>3N</days>",
        "N<city>xN</days>",
        "N<city>xN</city>,N<days>3N</days>",
        "N<city>xN</city>N<unit>KN</unit>",
        "N<city>xN</city>N<tags>aN</tags>",
        "N<city>xN</city>N<tags>N<item>aN</item>N<item>bN</item>N<item>cN</item>N</tags>",
        "N<city>xN</city>N<other>1N</other>",
    ];
    ELEMENTS.check(&required(WEATHER), &allowed.map(in_element), &refused.map(in_element));
}

#[test]
fn any_arguments_in_a_notation() {
    let request = of(vec![tool("f", "{}")], ToolChoice::Required);
    BARE_KEYS.check(
        &request,
        &[
            "<|tool_call>call:f{}<tool_call|>",
            "<|turn>model\n<|channel>thought\nHm.<channel|><|tool_call>call:f{a:1,b:[{c:null},true]}<tool_call|>",
        ],
        &["<|tool_call>call:f{a}<tool_call|>", "<|tool_call>call:g{}<tool_call|>", "call:f{}"],
    );
}

#[test]
fn members_of_which_the_first_may_be_missing() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"required":["b"]}"#;
    let allowed = ["b:null", "a:null,b:null", "b:null,c:null", "a:null,b:null,c:null"];
    let refused = ["a:null,c:null", "a:null", ",b:null", "b:null,", ""];
    BARE_KEYS.check(&required(schema), &allowed.map(in_call), &refused.map(in_call));
}

#[test]
fn a_schema_that_means_itself_in_a_notation() {
    let tree = r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}"##;
    BARE_KEYS.check(
        &required(tree),
        &["<|tool_call>call:get_weather{v:1,next:{v:2,next:{v:3}}}<tool_call|>"],
        &["<|tool_call>call:get_weather{v:1,next:{next:{v:3}}}<tool_call|>"],
    );
}

#[test]
fn calls_as_python_writes_them() {
    PYTHON.check(
        &required(WEATHER),
        &[
            "<|tool_call_start|>[get_weather(city=\"Oslo\", days=3)]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"a\\n\\\"b\\\"\", unit=\"C\", when={\"from\": 1, \"all\": True})]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"x\", when=None), get_weather(city=\"y\", tags=[\"a\", \"b\"])]<|tool_call_end|>",
        ],
        &[
            "<|tool_call_start|>[get_weather(days=3)]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=Oslo)]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"x\", when=null)]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"x\", when={\"all\": true})]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"x\" days=3)]<|tool_call_end|>",
            "<|tool_call_start|>[get_weather(city=\"x\")<|tool_call_end|>",
        ],
    );
}

#[test]
fn string_conditions_hold_where_strings_are_jsons() {
    let schema =
        r#"{"type":"object","properties":{"p":{"type":"string","pattern":"^[a-c]{2}$"}},"required":["p"]}"#;
    let call = |text: &str| format!("<|tool_call_start|>[get_weather(p={text})]<|tool_call_end|>");
    PYTHON.check(&required(schema), &[call("\"ab\"")], &[call("\"ad\""), call("\"abc\"")]);
}

#[test]
fn values_with_their_type_beside_them() {
    let schema = r#"{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},"e":{"enum":["1",2]}},"required":["s"]}"#;
    let call = |inner: &str| format!("<D>\n<invoke name=\"get_weather\">\n{inner}</invoke>\n</D>");
    let parameter = |key: &str, is_string: bool, value: &str| {
        format!("<parameter name=\"{key}\" string=\"{is_string}\">{value}</parameter>\n")
    };
    let s = parameter("s", true, "3 \"x\"");
    TYPED.check(
        &required(schema),
        &[
            call(&s),
            call(&format!("{s}{}", parameter("n", false, "3"))),
            call(&format!("{s}{}", parameter("e", true, "1"))),
            call(&format!("{s}{}", parameter("e", false, "2"))),
        ],
        &[
            call(&parameter("s", false, "3")),
            call(&format!("{s}{}", parameter("n", true, "3"))),
            call(&format!("{s}{}", parameter("e", true, "2"))),
            call(&format!("{s}{}", parameter("e", false, "1"))),
        ],
    );
    let request = of(vec![tool("get_weather", r#"{"allOf":[{}]}"#)], ToolChoice::Required);
    let (text, json) = (parameter("any", true, "true"), parameter("any", false, "true"));
    TYPED.check(&request, &[call(&format!("{text}{json}"))], &[call(&parameter("any", false, "\"true\""))]);
}
