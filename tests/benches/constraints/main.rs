//! Benchmark of constrained decoding: the grammar's compilation, and the mask of each token of one
//! sequence, in CPU time of one thread.
//!
//! `cargo bench --locked --workspace --bench constraints`; `SLUICE_TOKENIZER=FILE` sets the
//! `tokenizer.json` of a Qwen3 model (default: the embedded model's, whose vocabulary is small).
//! All steps are the server's own: the shipped parser's grammar, its markers as the tokenizer has
//! them, and masks. Texts satisfy the request and are tokenised as prompts are. Cases and figures
//! for `tests/peers/constraints` are written to `CONSTRAINTS_OUT=FILE`.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

mod cases;
mod late;
mod schemas;
mod walk;

use std::sync::Arc;
use std::time::Duration;

use cases::Case;
use engine::{JsonBegins, JsonConstraint};
use grammar::{MarkerTokens, ToolChoice};
use late::Answer;
use mask::{Grammars, MaskStart, json_grammar};
use parsers::ParserLimits;
use parsers::{Plugin, PluginSource, Runtime};
use prompt::Tokenizer;
use serde_json::{Value, json};
use system::cpu_clock::process_cpu_time;
use tests::grammars::{compile, grammars};
use tests::measure::{median_cpu, thread_cpu};
use turn::MarkerTable;
use walk::{Costs, microseconds};

const EMBEDDED: &[u8] = include_bytes!("../../../host/models/qwen3-tiny/tokenizer.json");
/// Number of sequences that are measured after a grammar's first, when the lexer is filled.
const SEQUENCES: usize = 8;
/// Five percent of a step of 10 ms, in microseconds.
const BUDGET: f64 = 500.0;
/// Texts that the template writes before an answer.
const HEADER: [&str; 2] = ["<|im_start|>", "assistant\n"];

/// Parser and tokenizer of the benchmark.
struct Bench {
    plugin: Arc<Plugin>,
    markers: MarkerTable,
    tokenizer: Arc<Tokenizer>,
    stops: Arc<[u32]>,
}

/// Row of the table.
struct Row {
    name: String,
    grammar: String,
    compile: Duration,
    again: Duration,
    begin: Duration,
    tokens: usize,
    first: Costs,
    next: Costs,
}

impl Bench {
    fn new() -> Self {
        let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/qwen3.wasm");
        let plugin = runtime.load(&PluginSource::File(file.into()), &[]).expect("a shipped parser");
        let json =
            std::env::var_os("SLUICE_TOKENIZER").map(|file| std::fs::read(file).expect("a tokenizer.json"));
        let tokenizer = Tokenizer::from_json(json.as_deref().unwrap_or(EMBEDDED)).expect("a tokenizer");
        let markers =
            MarkerTable::new(&plugin.descriptor().markers, |text| tokenizer.token_id(text)).expect("markers");
        let stops = Arc::from([tokenizer.token_id("<|im_end|>").expect("the turn's end")]);
        Self { plugin, markers, tokenizer: Arc::new(tokenizer), stops }
    }

    /// The format's grammar.
    fn grammar(&self, case: &Case) -> String {
        let ids: Vec<_> = self.markers.entries().map(|(_, id)| id).collect();
        let tokens = MarkerTokens { ids: &ids, inner: &[], stops: &self.plugin.descriptor().stops };
        let template = self.plugin.template().expect("a template");
        template.compose(&case.demand, tokens).expect("a grammar").expect("a constrained turn")
    }

    /// Beginning of the turn, which is part of the prompt.
    fn opening(&self) -> Vec<(Option<u32>, String)> {
        HEADER.map(|text| (self.tokenizer.token_id(text), text.to_owned())).to_vec()
    }

    fn measure(&self, name: String, grammar: String, opening: &[(Option<u32>, String)], text: &str) -> Row {
        let grammars = self.fresh();
        // Compiled on a thread of its own, while all others are idle.
        let began = process_cpu_time();
        let compiled = compile(&grammars, &grammar).expect("a grammar that compiles");
        let start = compiled.start(opening, &self.stops).expect("an opening of the grammar");
        let compile_time = process_cpu_time().saturating_sub(began);
        let again = median_cpu(9, || {
            let compiled = compile(&grammars, &grammar).expect("the same");
            drop(compiled.start(opening, &self.stops).expect("the same"));
        });
        let fork = median_cpu(9, || drop(start.mask()));
        let ids = self.ids(text);
        let first = self.walk(&start, &ids, 1);
        let next = self.walk(&start, &ids, SEQUENCES);
        Row { name, grammar, compile: compile_time, again, begin: fork, tokens: ids.len(), first, next }
    }

    /// Grammars whose vocabulary is ready and whose cache has none of the cases.
    fn fresh(&self) -> Grammars {
        let grammars = grammars(&self.tokenizer);
        compile(&grammars, "start: \"x\"").expect("a grammar");
        grammars
    }

    /// Tokens of the answer, with the stop at the end.
    fn ids(&self, text: &str) -> Vec<u32> {
        let mut ids = self.tokenizer.encode_with_added(text).expect("ids");
        ids.push(self.stops[0]);
        ids
    }

    /// Answers of all cases, with newly compiled grammars.
    fn answers(&self, cases: &[Case]) -> Vec<Answer> {
        let grammars = self.fresh();
        let answer = |case: &Case| {
            let compiled = compile(&grammars, &self.grammar(case)).expect("a grammar that compiles");
            let start = compiled.start(&self.opening(), &self.stops).expect("an opening of the grammar");
            Answer { start: Some(Arc::new(start)), ids: self.ids(&case.text).into() }
        };
        cases.iter().map(answer).collect()
    }

    /// Prints what the first request after a start costs: the vocabulary made ready, its grammar
    /// compiled, and the first mask.
    fn print_first(&self, case: &Case) {
        let (grammar, began) = (self.grammar(case), process_cpu_time());
        let grammars = grammars(&self.tokenizer);
        let compiled = compile(&grammars, &grammar).expect("a grammar that compiles");
        let start = compiled.start(&self.opening(), &self.stops).expect("an opening of the grammar");
        Costs::default().walk(start.mask(), &self.ids(&case.text)[..1], self.tokenizer.vocab_size());
        println!(
            "first request after a start, {}: {:.0} ms of all threads, {:.1} KiB of grammar, {} KiB held",
            case.name,
            microseconds(process_cpu_time().saturating_sub(began)) / 1e3,
            grammar.len() as f64 / 1024.0,
            grammars.held_bytes() / 1024,
        );
    }

    fn walk(&self, start: &MaskStart, ids: &[u32], sequences: usize) -> Costs {
        let mut costs = Costs::default();
        (0..sequences).for_each(|_| costs.walk(start.mask(), ids, self.tokenizer.vocab_size()));
        costs
    }
}

impl Row {
    fn print(&self) {
        let (first, next) = (&self.first, &self.next);
        println!(
            "{:<34}{:>7.1}{:>9.1}{:>8.0}{:>7.0}{:>7}{:>9.1}{:>9.0}{:>8.1}{:>8.1}{:>8.1}{:>9.1}{:>9.1}{:>7.0}",
            self.name,
            self.grammar.len() as f64 / 1024.0,
            microseconds(self.compile) / 1e3,
            microseconds(self.again),
            microseconds(self.begin),
            self.tokens,
            first.mean(),
            first.percentile(100),
            next.percentile(50),
            next.percentile(90),
            next.percentile(99),
            next.percentile(100),
            next.mean(),
            BUDGET / next.mean(),
        );
    }

    fn figures(&self) -> Value {
        let next = &self.next;
        json!({"compile_ms": microseconds(self.compile) / 1e3, "first": self.first.mean(), "p50": next.percentile(50),
            "p99": next.percentile(99), "max": next.percentile(100), "mean": next.mean()})
    }
}

fn exported(case: &Case, row: &Row) -> Value {
    let tools = case.demand.tools.iter().map(|tool| json!({"name": tool.name, "parameters": tool.schema}));
    json!({"name": case.name, "schema": case.demand.response_schema, "json": case.json, "tools": tools.collect::<Value>(),
        "required": case.demand.tool_choice != ToolChoice::Auto, "text": case.text, "grammar": row.grammar,
        "figures": row.figures()})
}

fn main() {
    let bench = Bench::new();
    let began = thread_cpu();
    let grammars = grammars(&bench.tokenizer);
    compile(&grammars, "start: \"x\"").expect("a grammar");
    let ready = thread_cpu().saturating_sub(began);
    println!(
        "\nmasks of {} tokens, CPU time of one thread; the vocabulary made ready in {:.0} ms, once for each model",
        bench.tokenizer.vocab_size(),
        microseconds(ready) / 1e3
    );
    let cases = cases::all();
    for case in cases.iter().filter(|case| case.name.ends_with("plain tools")) {
        bench.print_first(case);
    }
    println!(
        "the first sequence of a grammar fills its lexer; the columns behind it are of the next {SEQUENCES}\n"
    );
    println!(
        "{:<34}{:>7}{:>9}{:>8}{:>7}{:>7}{:>9}{:>9}{:>8}{:>8}{:>8}{:>9}{:>9}{:>7}",
        "",
        "KiB",
        "compile",
        "cached",
        "begin",
        "tokens",
        "1st mean",
        "1st max",
        "p50",
        "p90",
        "p99",
        "max",
        "mean",
        "in 5 %"
    );
    println!("{:<34}{:>7}{:>9}{:>8}{:>7}{:>7}{:>9}", "", "", "ms", "µs", "µs", "", "µs per token");
    let mut exports = Vec::new();
    for case in &cases {
        let row = bench.measure(case.name.to_owned(), bench.grammar(case), &bench.opening(), &case.text);
        row.print();
        exports.push(exported(case, &row));
        if let Some(schema) = case.demand.response_schema.clone() {
            let begins = JsonBegins::AtOnce;
            let plain = json_grammar(&JsonConstraint { schema, begins }).expect("a schema");
            bench.measure("  JSON alone".to_owned(), plain, &[], &case.text).print();
        }
    }
    late::print(bench.tokenizer.vocab_size(), || bench.answers(&cases));
    late::print_plain(bench.tokenizer.vocab_size(), || {
        let answers = bench.answers(&cases).into_iter().zip(&cases);
        let named = answers.map(|(answer, case)| (case.name, answer));
        named.filter(|(name, _)| name.ends_with("plain tools")).collect()
    });
    if let Some(file) = std::env::var_os("CONSTRAINTS_OUT") {
        std::fs::write(file, Value::Array(exports).to_string()).expect("the cases can be written");
    }
}
