//! The test kit's round trips notice a parser that changes what the model wrote.

use std::panic::{UnwindSafe, catch_unwind};

use parser_kit::{
    check_input_flows, check_long_arguments, check_string_parameters, check_turns, custom_tool, request,
    with_tools,
};
use parser_sdk::{Descriptor, Output, Parser, Payload, Prose, Request, Route, Tools, Trim};

/// `<think>…</think>`, and `<call>…</call>` around the arguments of the first tool, or the inside
/// of a custom one's string.
struct Tags<const FORGETFUL: bool> {
    tools: Tools,
    prose: Prose,
    arguments: bool,
}

impl<const FORGETFUL: bool> Parser for Tags<FORGETFUL> {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            markers: ["<think>", "</think>", "<call>", "</call>"].map(String::from).into(),
            trim: Trim { reasoning: true, content: true },
            ..Descriptor::default()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), arguments: false })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        if FORGETFUL && chunk.contains('a') {
            out.drop(1);
        }
        match (self.arguments, self.tools.payload("add")) {
            (false, _) => self.prose.flow(out),
            (true, Payload::Json) => out.until_marker(Route::Arguments),
            (true, Payload::Text) => out.until_byte(Route::ArgumentsUnescaped, "\"\\"),
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        self.arguments = index == 2;
        match index {
            0 => self.prose.reasoning(out),
            1 => self.prose.content(out),
            2 => {
                out.drop_all();
                out.tool_call("add", self.tools.payload("add"));
            }
            _ => {
                out.drop_all();
                out.close();
            }
        }
    }
}

type Sound = Tags<false>;
type Forgetful = Tags<true>;

fn call(arguments: &str) -> String {
    format!("<call>{arguments}</call>")
}

fn fails(check: impl FnOnce() + UnwindSafe) -> bool {
    catch_unwind(check).is_err()
}

#[test]
fn turns_that_change_are_noticed() {
    check_turns::<Sound>(&request(&["add"]), |_, arguments| call(arguments));
    assert!(fails(|| check_turns::<Forgetful>(&request(&["add"]), |_, arguments| call(arguments))));
}

#[test]
fn parameters_that_change_are_noticed() {
    let parameter = |key: &str, value: &str| format!("\"{key}\": {},", serde_json::Value::from(value));
    let object = |parameters: &str| call(&format!("{{{}}}", parameters.trim_end_matches(',')));
    check_string_parameters::<Sound>(&request(&["add"]), parameter, object);
    assert!(fails(|| check_string_parameters::<Forgetful>(&request(&["add"]), parameter, object)));
}

#[test]
fn long_arguments_that_change_are_noticed() {
    check_long_arguments::<Sound>(&request(&["add"]), "", call);
    assert!(fails(|| check_long_arguments::<Forgetful>(&request(&["add"]), "", call)));
}

#[test]
fn inputs_that_do_not_flow_are_noticed() {
    assert!(fails(|| check_input_flows::<Sound>(&request(&["add"]), &["<call>"])));
    check_input_flows::<Sound>(&with_tools([custom_tool("add")]), &["<call>"]);
}
