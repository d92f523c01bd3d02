//! `host parser fit` on templates with the traps of published ones, each a template of our own.

use crate::parser_fit::{JSON, TAGS, report};

const SECTIONS: &str = include_str!("fit/sections.jinja");
const COUNTERS: &str = include_str!("fit/counters.jinja");
const CDATA: &str = include_str!("fit/cdata.jinja");

/// End of the JSON template: the opening of a turn.
const OPENING: &str = "<|im_start|>assistant\n{% endif %}";
const REASONING: &str = "{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}";
const TEXT: &str = "{{ message.content }}";

/// The template with each of these texts replaced, which it must have.
fn changed(template: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(template.to_owned(), |template, (from, to)| {
        assert!(template.contains(from), "{from}");
        template.replace(from, to)
    })
}

/// The JSON template whose generation prompt goes on with this.
fn opened(template: &str, with: &str) -> String {
    let before = template.strip_suffix(OPENING).expect("it ends with the opening");
    format!("{before}<|im_start|>assistant\n{with}{{% endif %}}")
}

/// Asserts the exit status, and of some probes the verdict with the context and the notes on how it
/// was come to.
fn assert_verdicts(parser: &str, template: &str, status: i32, expected: &[(&str, &str)]) {
    let (code, fit) = report(parser, template, &[]);
    let of = |name: &str| {
        let probe = fit["probes"].as_array()?.iter().find(|probe| probe["probe"] == name)?;
        let with = (probe["with_reasoning"] == true).then_some("with reasoning");
        let read = probe["is_read"].as_bool().map(|is_read| if is_read { "read" } else { "not read" });
        let context = probe["context"].as_str().filter(|context| *context != "last");
        let words = [probe["verdict"].as_str(), context, probe["argument"].as_str(), with, read];
        Some(words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    let came: Vec<_> = expected.iter().map(|(name, _)| (*name, of(name).unwrap_or_default())).collect();
    let came: Vec<_> = came.iter().map(|(name, verdict)| (*name, verdict.as_str())).collect();
    assert_eq!((code, &came[..]), (Some(status), expected), "{fit:#}");
}

/// Writes `</think>` alone before a turn without reasoning; its first character is that of `<think>`.
fn closed() -> String {
    let closed = "{% if message.role == 'assistant' %}{% if message.reasoning_content %}\
                  <think>{{ message.reasoning_content }}{% endif %}</think>{% endif %}";
    changed(JSON, &[(REASONING, closed)])
}

#[test]
fn opening_is_that_of_the_right_argument() {
    let switch =
        "{% if enable_thinking is defined and not enable_thinking %}</think>{% else %}<think>{% endif %}";
    let same = "same, enable_thinking=false";
    assert_verdicts(
        "qwen3",
        &opened(&closed(), switch),
        0,
        &[("text", same), ("one-argument", same), ("reasoning-text", "same")],
    );
}

#[test]
fn reasoning_is_added_where_the_prompt_opens_it() {
    for template in [opened(JSON, "<think>\n"), opened(&closed(), "<think>")] {
        let same = "same, with reasoning";
        assert_verdicts("qwen3", &template, 0, &[("text", same), ("null", same), ("reasoning-call", "same")]);
    }
}

#[test]
fn unopened_turn_is_cut_at_a_tag() {
    let template = changed(&opened(&closed(), "<think>"), &[("message.reasoning_content", "false")]);
    let (code, fit) = report("qwen3", &template, &[]);
    let text = &fit["probes"][0];
    assert_eq!((code, &text["verdict"], &text["is_read"]), (Some(3), &"unopened".into(), &true.into()));
    assert_eq!(text["rendering"], "</think>zqtext first\nthen zqtextend<|im_end|>");
    let output = crate::parser_fit::fit("qwen3", Some(&template), &[]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("nothing is proved, though the parser reads all 30 unopened probes"), "{text}");
}

#[test]
fn reasoning_of_the_last_turn_is_enough() {
    let last = ("if message.reasoning_content", "if message.reasoning_content and loop.last");
    assert_verdicts("qwen3", &changed(JSON, &[last]), 0, &[("reasoning-call", "same"), ("text", "same")]);
}

#[test]
fn turn_ends_at_what_stands_behind_any_turn() {
    let endless = ("<|im_end|>\n", "{% if message.role == 'user' %}<|im_end|>{% endif %}");
    let named = [("<|im_end|>", "</turn>"), ("<|im_start|>", "<turn>")];
    let always =
        ("{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n");
    for changes in [&[endless][..], &named, &[always]] {
        let same = "same";
        assert_verdicts("qwen3", &changed(JSON, changes), 0, &[("text", same), ("two-tools", same)]);
    }
}

#[test]
fn value_printed_as_python_is_rewritten() {
    let python = changed(TAGS, &[("value|tojson", "value")]);
    assert_verdicts("qwen3-coder", &python, 0, &[("nested", "rewritten"), ("one-argument", "same")]);
}

#[test]
fn text_beside_a_call_may_be_lost_or_behind_it() {
    let lost = (TEXT, "{{ '' if message.tool_calls else message.content }}");
    let behind =
        ("{% endfor %}<|im_end|>", "{% endfor %}{{ message.content if message.tool_calls }}<|im_end|>");
    for changes in [&[lost][..], &[lost, behind]] {
        let template = changed(JSON, changes);
        assert_verdicts("qwen3", &template, 0, &[("text-call", "unshown"), ("text", "same")]);
    }
}

#[test]
fn text_written_as_reasoning_is_rewritten() {
    let template = changed(
        JSON,
        &[
            (TEXT, "{{ '' if message.tool_calls else message.content }}"),
            ("{{ message.reasoning_content }}", "{{ reasoning }}"),
            (
                "{% if message.reasoning_content %}",
                "{% set reasoning = message.reasoning_content or (message.content if message.tool_calls) %}\
             {% if reasoning %}",
            ),
        ],
    );
    assert_verdicts("qwen3", &template, 0, &[("text-call", "rewritten"), ("reasoning-call", "same")]);
}

#[test]
fn section_may_close_from_the_second_call_on() {
    let same = "same";
    assert_verdicts("deepseek-v3", SECTIONS, 0, &[("one-argument", same), ("two-tools", same)]);
}

#[test]
fn calls_are_counted_as_their_format_does() {
    assert_verdicts("kimi-k2", COUNTERS, 0, &[("two-tools", "same"), ("one-tool-twice", "same")]);
}

#[test]
fn value_may_decide_its_markup() {
    assert_verdicts("minicpm5", CDATA, 0, &[("markup", "same"), ("one-argument", "same")]);
    let value = "{{ value if value is string else value|tojson }}";
    let cdata = "{% set text = value if value is string else value|tojson %}\
                 {{ '<![CDATA[' ~ text ~ ']]>' if '<' in text else text }}";
    let template = changed(TAGS, &[(value, cdata)]);
    assert_verdicts("qwen3-coder", &template, 1, &[("markup", "differs"), ("one-argument", "same")]);
}

#[test]
fn tools_are_declared_as_plainly_as_it_takes() {
    for (condition, nested) in [("is not string", "same"), ("in ['object', 'array']", "same")] {
        let raises = format!(
            "{{% for tool in tools %}}{{% for key, schema in tool.function.parameters.properties.items() %}}\
             {{% if schema.type {condition} %}}{{{{ raise_exception('no') }}}}{{% endif %}}\
             {{% endfor %}}{{% endfor %}}"
        );
        let template = raises + JSON;
        assert_verdicts("qwen3", &template, 0, &[("null", "refused"), ("nested", nested), ("text", "same")]);
    }
}

#[test]
fn reasoning_is_found_in_the_content() {
    let inline = "{{ message.content if loop.last else message.content.split('</think>')[-1] }}";
    let inline = changed(JSON, &[(REASONING, ""), (TEXT, inline)]);
    let printed = changed(JSON, &[(REASONING, ""), (TEXT, "{{ message.content|string }}")]);
    let block = "{% if message.content is string %}{{ message.content }}{% else %}<think>
{{ message.content[0].thinking }}
</think>

{{ message.content[1].text if message.content[1] }}{% endif %}";
    let block = changed(JSON, &[(REASONING, ""), (TEXT, block)]);
    for (template, place, verdict) in [
        (inline, "text between <think> and </think>", "same"),
        (block, "a thinking block", "same"),
        (printed, "reasoning_content", "unshown"),
    ] {
        let (_, fit) = report("qwen3", &template, &[]);
        assert_eq!(fit["reasoning"], place);
        assert_verdicts("qwen3", &template, 0, &[("reasoning-text", verdict), ("text", "same")]);
    }
}

#[test]
fn calls_of_finished_turns_are_enough() {
    let finished = "in (message.tool_calls if messages[-1].role == 'user' else [])";
    let template = changed(JSON, &[("in message.tool_calls", finished)]);
    assert_verdicts("qwen3", &template, 0, &[("one-argument", "same, history"), ("text", "same")]);
}

#[test]
fn template_that_refuses_calls_says_so() {
    let raises =
        "{% if message.tool_calls %}{{ raise_exception('no calls') }}{% endif %}{{ message.content }}";
    let template = changed(JSON, &[(TEXT, raises)]);
    assert_verdicts("qwen3", &template, 3, &[("one-argument", "refused"), ("text", "same")]);
}

#[test]
fn arguments_as_text_are_found_where_the_prompt_opens_reasoning() {
    let joined = ("call.function.arguments|tojson", "'' + call.function.arguments");
    let template = opened(&changed(JSON, &[joined]), "<think>\n");
    let same = "same, with reasoning";
    assert_verdicts("qwen3", &template, 0, &[("text", same), ("one-argument", same), ("nested", same)]);
}

#[test]
fn a_call_that_lacks_a_quote_is_not_believed() {
    let lacking = ("{{ call.function.name|tojson }}", "\"{{ call.function.name }}");
    let template = changed(JSON, &[lacking]);
    assert_verdicts("qwen3", &template, 3, &[("one-argument", "broken"), ("text", "same")]);
    let output = crate::parser_fit::fit("qwen3", Some(&template), &[]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("nothing is proved, the template's own calls lack a quote"), "{text}");
}

#[test]
fn white_space_between_markers_is_left_out_and_doubled() {
    let (_, fit) = report("qwen3-coder", TAGS, &[]);
    for name in ["blanks-left-out", "blanks-doubled"] {
        let probe = fit["probes"].as_array().expect("a list").iter().find(|probe| probe["probe"] == name);
        assert_eq!(probe.expect("it is tried")["verdict"], "same", "{name}");
    }
}
