//! Benchmark of chat templates: CPU time per KB of conversation to run a template, and to run it
//! and tokenise the prompt, for conversations of 1 to 1,000 messages; and whether an appended turn
//! changes tokens before it.
//!
//! `cargo bench-dist -p tests --bench prompts` measures the embedded model's template and
//! the small ones of `host/jinja/tests/data/twins.jsonl`; `PROMPTS_TEMPLATES=FOLDER` adds the
//! `*.jinja` of a folder, such as the one of `tests/templates/run.sh`, and prints the slowest of
//! all. Of each time the least of several runs counts. `+` stands behind a template that shows no
//! text of messages and got a loop that does. A prompt takes two runs of its template: with the
//! opening of the turn to generate, and without it. `tests/templates/speed.py` measures
//! transformers with the same conversations.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "sizes of a few megabytes")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use prompt::PromptLimits;
use prompt::{
    ChatFiles, ChatFormat, ChatMessage, Conversation, HistoryCall, Prompt, RenderError, Role, Tokenizer,
    ToolDeclaration, TurnOpening, approximate_bytes,
};
use serde_json::{Value, json};
use tests::measure::thread_cpu;

const SIZES: [usize; 5] = [1, 10, 100, 250, 1000];
/// Runs of a template alone, and with tokens.
const RUNS: [usize; 2] = [9, 3];
/// What is put behind a template that shows no text of messages, since no server takes such a one.
const SHOWN: &str = "{% for m in messages %}{{ m.content }}{% endfor %}";
/// Growth of the time from 250 to 1,000 messages above which a template is quadratic; that of the
/// text is 4.
const QUADRATIC: f64 = 6.0;
const SENTENCE: &str = "The forecast for the coast says rain until noon, then a light wind from the west. ";
const TOOL: &str = r#"{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}"#;

fn main() {
    println!("CPU time in µs per KB of conversation, template / template and tokens");
    let head = SIZES.map(|size| format!("{size:>13}")).concat();
    println!("{:44}{:>8}{head}{:>8}  stable", "template", "shape", "growth");
    let mut rows: Vec<Row> = subjects().iter().filter_map(measure).collect();
    println!(
        "\n`stable`: an appended turn changes no token before it (plain, reasoning, calls, both); - if the template refuses the turns"
    );
    for (index, kind) in KINDS.iter().enumerate() {
        let count = |answer| rows.iter().filter(|row| row.stable[index] == answer).count();
        println!("{:12}{} stable, {} not, {} refused", kind.0, count('y'), count('n'), count('-'));
    }
    rows.sort_by(|a, b| b.slowest().total_cmp(&a.slowest()));
    println!("\nslowest at 1,000 messages:");
    rows.iter().take(10).for_each(|row| println!("{:44}{:9.1}{:8.1}", row.name, row.slowest(), row.growth()));
    let quadratic: Vec<&str> =
        rows.iter().filter(|row| row.growth() > QUADRATIC).map(|row| row.name.as_str()).collect();
    println!("quadratic: {}", if quadratic.is_empty() { "none".to_owned() } else { quadratic.join(", ") });
}

/// A template to measure.
struct Subject {
    name: String,
    files: ChatFiles,
}

/// What was measured of a template.
struct Row {
    name: String,
    /// µs per KB of the template alone, and with tokens; `None` if the template refuses the
    /// conversation.
    times: [Option<(f64, f64)>; SIZES.len()],
    stable: [char; KINDS.len()],
}

impl Row {
    fn slowest(&self) -> f64 {
        self.times[SIZES.len() - 1].map_or(0.0, |(template, _)| template)
    }

    fn growth(&self) -> f64 {
        match self.times[SIZES.len() - 2..] {
            [Some((few, _)), Some((many, _))] => 4.0 * many / few,
            _ => 0.0,
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a folder")
}

fn subjects() -> Vec<Subject> {
    let subject = |name: &str, template: &str, special: &Value| {
        let special = special.as_object().into_iter().flatten();
        let special_tokens =
            special.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect();
        Subject {
            name: name.to_owned(),
            files: ChatFiles { template: template.to_owned(), tool_template: None, special_tokens },
        }
    };
    let read = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let embedded = read(&root().join("host/models/qwen3-tiny/chat_template.jinja"));
    let mut subjects = vec![subject("embedded", &embedded, &json!({"eos_token": "<|im_end|>"}))];
    let twins = std::fs::read_to_string(root().join("host/jinja/tests/data/twins.jsonl")).unwrap_or_default();
    for line in twins.lines() {
        let twin: Value = serde_json::from_str(line).expect("a twin is JSON");
        let [name, template] = ["name", "template"].map(|key| twin[key].as_str().unwrap_or_default());
        if subjects.iter().all(|known| known.files.template != template) {
            let special = json!({"bos_token": twin["variables"]["bos_token"], "eos_token": twin["variables"]["eos_token"]});
            subjects.push(subject(name.split(':').next().unwrap_or(name), template, &special));
        }
    }
    if let Some(folder) = std::env::var_os("PROMPTS_TEMPLATES") {
        let index: Value =
            serde_json::from_str(&read(&Path::new(&folder).join("index.json"))).expect("an index is JSON");
        for (name, special) in index.as_object().into_iter().flatten() {
            let template = read(&Path::new(&folder).join(format!("{name}.jinja")));
            subjects.push(subject(name, &template, special));
        }
    }
    subjects
}

/// The embedded tokenizer with the control tokens that the template seems to have.
fn tokenizer(files: &ChatFiles) -> Arc<Tokenizer> {
    let path = root().join("host/models/qwen3-tiny/tokenizer.json");
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(path).expect("the tokenizer is there")).expect("JSON");
    let mut literals: BTreeSet<&str> =
        files.special_tokens.iter().map(|(_, literal)| literal.as_str()).collect();
    for (start, _) in files.template.match_indices('<') {
        let rest = &files.template[start..];
        let literal = &rest[..rest.find('>').map_or(0, |end| end + 1)];
        let is_name = |c: char| c.is_alphanumeric() || "<>/|｜_▁-".contains(c);
        if (3..40).contains(&literal.len()) && literal.chars().all(is_name) {
            literals.insert(literal);
        }
    }
    let tokens = file["added_tokens"].as_array_mut().expect("a list");
    literals.retain(|literal| tokens.iter().all(|token| token["content"] != *literal));
    tokens.extend(literals.iter().zip(714..).map(|(literal, id)| {
        json!({"id": id, "content": literal, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    }));
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).expect("a tokenizer"))
}

/// Messages of an agent's session, or plain turns. `speed.py` has the same.
fn session(count: usize, has_calls: bool) -> Conversation {
    let message = |index: usize| {
        let text = format!("{index}: {}", SENTENCE.repeat(1 + index % 5));
        match (index % 4, has_calls) {
            (1, true) => calling(index / 4, None),
            (2, true) => result(index / 4, &text),
            (0 | 2, _) => ChatMessage::text(Role::User, text),
            _ => ChatMessage::text(Role::Assistant, text),
        }
    };
    Conversation { messages: (0..count).map(message).collect(), tools: tools(has_calls) }
}

fn tools(has_calls: bool) -> Vec<ToolDeclaration> {
    let tool = ToolDeclaration { name: "get_weather".to_owned(), declaration: TOOL.to_owned() };
    if has_calls { vec![tool] } else { Vec::new() }
}

fn call_id(index: usize) -> String {
    format!("call{index:05}")
}

fn calling(index: usize, reasoning: Option<&str>) -> ChatMessage {
    let arguments = r#"{"city": "Riga"}"#.to_owned();
    let mut message = ChatMessage::text(Role::Assistant, "");
    message.tool_calls = vec![HistoryCall { id: call_id(index), name: "get_weather".to_owned(), arguments }];
    message.reasoning = reasoning.map(str::to_owned);
    message
}

fn result(index: usize, text: &str) -> ChatMessage {
    let mut message = ChatMessage::text(Role::Tool, text);
    (message.tool_call_id, message.name) = (Some(call_id(index)), Some("get_weather".to_owned()));
    message
}

/// Measures a template and prints its row; a template that can't be loaded gets a line with the
/// reason.
fn measure(subject: &Subject) -> Option<Row> {
    let tokenizer = tokenizer(&subject.files);
    let limits = PromptLimits {
        bytes_per_token: 1,
        template_time: std::time::Duration::from_secs(30),
        ..PromptLimits::default()
    };
    let load = |files: &ChatFiles| ChatFormat::new(files, Arc::clone(&tokenizer), &limits, 1 << 28);
    let (mut name, mut files) = (subject.name.clone(), subject.files.clone());
    let mut loaded = load(&files);
    if loaded.is_err() {
        name += " +";
        files.template += SHOWN;
        loaded = load(&files);
    }
    let mut format = match loaded {
        Ok(format) => format,
        Err(reason) => {
            println!("{name:44}not loaded: {reason}");
            return None;
        }
    };
    let has_calls = render(&format, &session(12, true)).is_ok();
    let stable = KINDS.map(|(_, reasoning, calls)| is_stable(&format, &tokenizer, reasoning, calls));
    let mut times = [None; SIZES.len()];
    for (size, time) in SIZES.iter().zip(&mut times) {
        let talk = session(*size, has_calls && *size > 1);
        let kilobytes = kilobytes(&talk);
        if render(&format, &talk).is_err() {
            continue;
        }
        let both = least(RUNS[1], || drop(render(&format, &talk))) / kilobytes;
        // A prompt of more bytes than the context's longest tokens have is refused before it is tokenised.
        format = format.with_context(&limits, approximate_bytes(&talk) * 2 / tokenizer.most_bytes(1));
        let too_long = matches!(render(&format, &talk), Err(RenderError::TooLong(_)));
        let template = least(RUNS[0], || drop(render(&format, &talk))) / kilobytes;
        format = format.with_context(&limits, 1 << 28);
        *time = too_long.then_some((template, both));
    }
    let row = Row { name, times, stable };
    let cells = row
        .times
        .map(|time| time.map_or("-".to_owned(), |(template, both)| format!("{template:.1}/{both:.0}")));
    let cells = cells.map(|cell| format!("{cell:>13}")).concat();
    let shape = if has_calls { "calls" } else { "plain" };
    println!("{:44}{shape:>8}{cells}{:8.1}  {}", row.name, row.growth(), String::from_iter(row.stable));
    Some(row)
}

/// Size of a conversation's texts and calls.
fn kilobytes(conversation: &Conversation) -> f64 {
    let calls = conversation.messages.iter().flat_map(|message| &message.tool_calls);
    let calls: usize = calls.map(|call| call.name.len() + call.arguments.len()).sum();
    let texts: usize = conversation.messages.iter().map(|message| message.content.len()).sum();
    (calls + texts) as f64 / 1024.0
}

fn render(format: &ChatFormat, conversation: &Conversation) -> Result<Prompt, RenderError> {
    format.render(conversation, &[], TurnOpening::NewTurn)
}

/// The least CPU time of several runs, in µs.
fn least(runs: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let began = thread_cpu();
        run();
        thread_cpu().saturating_sub(began)
    };
    let least = (0..runs).map(time).min().unwrap_or_default();
    least.as_secs_f64() * 1e6
}

/// Kinds of turns: name, whether answers have reasoning, whether they have calls.
const KINDS: [(&str, bool, bool); 4] =
    [("plain", false, false), ("reasoning", true, false), ("calls", false, true), ("both", true, true)];

/// Whether each prompt of a growing conversation begins with the tokens of the one before, less the
/// opening of its turn.
fn is_stable(format: &ChatFormat, tokenizer: &Tokenizer, reasoning: bool, calls: bool) -> char {
    let thought = |text: &str| reasoning.then(|| text.to_owned());
    let mut talk = Conversation { messages: Vec::new(), tools: tools(calls) };
    let mut before: Option<Prompt> = None;
    for turn in 0..3 {
        let mut steps = vec![vec![ChatMessage::text(Role::User, format!("Question {turn}?"))]];
        if calls {
            steps.push(vec![calling(turn, thought("Look it up.").as_deref()), result(turn, "Rain.")]);
        }
        let mut answer = ChatMessage::text(Role::Assistant, format!("Answer {turn}."));
        answer.reasoning = thought("It is known.");
        for step in steps {
            talk.messages.extend(step);
            let Ok(prompt) = render(format, &talk) else { return '-' };
            if before.is_some_and(|before| !prompt.ids.starts_with(lasting(&before, tokenizer))) {
                return 'n';
            }
            before = Some(prompt);
        }
        talk.messages.push(answer);
    }
    'y'
}

/// The tokens of a prompt before the opening of its turn.
fn lasting<'a>(prompt: &'a Prompt, tokenizer: &Tokenizer) -> &'a [u32] {
    let mut opening: usize = prompt.generation_prompt.iter().map(|(_, text)| text.len()).sum();
    let mut count = prompt.ids.len();
    while opening > 0 && count > 0 {
        count -= 1;
        opening = opening.saturating_sub(tokenizer.token(prompt.ids[count]).len());
    }
    &prompt.ids[..count]
}
