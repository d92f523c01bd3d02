//! Custom tools whose inputs have a grammar: requests, and a check of an input against its grammar
//! alone.

use grammar::{Demand, TextGrammar, ToolChoice};
use llguidance::api::TopLevelGrammar;
use parsers::conformance::walk;

use super::requests::{Expected, custom, of, tool};
use registry::Inputs;

/// Grammar of a patch, as coding agents have it, but of bounded length, since a walk has to end.
const PATCH: &str = r#"
start: begin_patch hunk{1,2} end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

// What is done to one file.
hunk: add_hunk | delete_hunk
    | update_hunk   # the usual one
add_hunk: "*** Add File: " filename LF add_line ~ 1..3
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
change_move: "*** Move to: " filename LF
change: (change_context | change_line){1,3} eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"#;
/// Grammar with names that the surrounding grammar has, too, and with texts that look like markup.
const NAMES: &str = r#"start: text (gap call)* marker_2? TEXT_PIECE token_7 [input_0]
text: "<tool_call>"i | "</parameter>" | "<" | "x"
?gap: " " ~ 1..2
!call: "</arg_value>\n" | "}" WHOLE
marker_2: "marker"
input_0: "a".."f"
WHOLE: /<\/?[a-z]*>?/
TEXT_PIECE: "\"" /[^"<]*/ "\""
token_7: INT | _EXP
%import common (INT, _EXP)
"#;
const SUMS: &str =
    "start: sum\nsum: term (\"+\" term)*\nterm: NUMBER | \"(\" sum \")\"\nNUMBER: /[0-9]{1,3}/\n";
const SPACED: &str = "start: WORD (\",\" WORD)* \".\"\nWORD: /[a-z]{1,5}/\n%ignore / {1,2}/\n";
const TIME: &str = r"^(?P<hour>[01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?( [^/\]\n]{1,3}/[</>]{0,9})?$";

/// Regular expression of texts that begin and end like other spellings of an input.
const ALIKE: &str = r#"[ \n]{0,2}(```|\{"input": "|<)?[a-z\n]{0,9}("\}|```)?[ \n]{0,2}"#;

/// Requests, each with its name and the expected result in a format that writes inputs in this way.
pub(crate) fn requests(
    inputs: Inputs,
    carries: impl Fn(&TextGrammar) -> bool,
) -> Vec<(&'static str, Demand, Expected)> {
    use Expected::{Constrained, Free, Refused};
    use Inputs::{BeforeText, Json};
    use ToolChoice::{Auto, Required};
    let raw = |expected| if inputs == Json { Constrained } else { expected };
    let whole = |word| if inputs == BeforeText { Refused(word) } else { Constrained };
    // A random walk hardly spells the escape that ends a line in JSON.
    let patch = PATCH.replace("(.+)", "(.{1,9})").replace("(.*)", "(.{0,9})");
    let patch = if inputs == Json { patch.as_str() } else { PATCH };
    let one = |syntax, definition| of(vec![custom(Some(grammar(syntax, definition)))], Required);
    let mut several = one("lark", patch);
    several.tools.extend([custom(Some(grammar("regex", TIME))), custom(None), tool("open", "{}")]);
    for (tool, name) in several.tools.iter_mut().zip(["patch", "time", "free", "open"]) {
        tool.name = name.into();
    }
    let perhaps = Demand { tool_choice: Auto, ..several.clone() };
    let mut all = vec![
        ("a patch", one("lark", patch), Constrained),
        ("a grammar with names of others", one("lark", NAMES), Constrained),
        ("a regular expression", one("regex", TIME), Constrained),
        ("an input that looks otherwise", one("regex", ALIKE), Constrained),
        ("some with grammars", several, Constrained),
        (
            "some with grammars may be called",
            perhaps,
            if carries(&grammar("lark", patch)) { Constrained } else { Free },
        ),
        ("a recursive grammar", one("lark", SUMS), whole("recursive")),
        ("a grammar that ignores white space", one("lark", SPACED), whole("%ignore")),
        ("an unknown syntax", one("ebnf", "start = x"), raw(Refused("ebnf"))),
    ];
    all.extend(
        MALFORMED
            .map(|(definition, word)| ("a malformed grammar", one("lark", definition), raw(Refused(word)))),
    );
    all.extend(["(", "a)", "[a", "a\\", "(?=a)", r"(a)\1", ""].map(|definition| {
        ("a malformed expression", one("regex", definition), raw(Refused("regular expression")))
    }));
    all
}

/// Malformed definitions, each with a word of its error message.
const MALFORMED: [(&str, &str); 22] = [
    ("", "start"),
    ("begin: \"a\"", "start"),
    ("start: other", "other"),
    ("start: \"a\"\nstart: \"b\"", "twice"),
    ("start: \"a", "line 1"),
    ("start: (\"a\"", ")"),
    ("start: \"a\" }", "`}`"),
    ("start: \"a\"\n}\nstart: /.*/", "`}`"),
    ("start: <|im_end|>", "<|im_end|>"),
    ("start: <[7]>", "<[7]>"),
    ("start: @other", "@other"),
    ("start: %json {}", "%json"),
    ("start: %lark { start: \"a\" }", "%lark"),
    ("%llguidance {}\nstart: \"a\"", "%llguidance"),
    ("%declare A\nstart: A", "%declare"),
    ("%import python.NAME\nstart: NAME", "python"),
    ("%import common.OTHER\nstart: OTHER", "common.OTHER"),
    ("start[lazy]: /.*/", "start"),
    ("start: a{\"x\"}\na{b}: b", "start"),
    ("start: A\nA: rule\nrule: \"a\"", "rule"),
    ("start: A\nA: \"a\" A", "recursive"),
    ("start: A\nA.2: \"a\"", "A"),
];

fn grammar(syntax: &str, definition: &str) -> TextGrammar {
    TextGrammar { syntax: syntax.into(), definition: definition.into() }
}

/// Checks that a text matches this grammar alone, outside the turn's grammar.
pub(crate) fn matches(grammar: &TextGrammar, text: &str) -> Result<(), String> {
    let alone = match grammar.syntax.as_str() {
        "regex" => TopLevelGrammar::from_regex(&grammar.definition),
        _ => TopLevelGrammar::from_lark(grammar.definition.clone()),
    };
    let mut matcher = walk::matcher(alone, 0)?;
    let taken = matcher.try_consume_tokens(&walk::bytes(text)).map_err(|error| error.to_string())?;
    let is_whole = taken == text.len()
        && (matcher.is_stopped() || matcher.is_accepting().map_err(|error| error.to_string())?);
    if is_whole { Ok(()) } else { Err(format!("{text:?} isn't of its grammar")) }
}
