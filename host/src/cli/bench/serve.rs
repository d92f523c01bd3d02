//! `host bench serve`: load on any server that speaks OpenAI's API. Switches have the names of
//! `vllm bench serve` where it has them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::bench::serve::{
    self, Api, Arrivals, BenchProgress, BenchTarget, Conversations, Load, Quantiles, ServeReport,
    TargetOptions,
};
use anyhow::Context;
use net::printable::Escaped;
use net::{ServerKey, ServerUrl};
use serde_json::{Map, Value};

use super::output::OutputArguments;
use crate::cli::progress::show;
use crate::cli::table::Table;
use crate::cli::values::{api, number, parsed, rate};

#[derive(clap::Args)]
pub(super) struct BenchServeArguments {
    /// Base URL of the server, with or without `/v1`.
    #[arg(long, value_name = "URL", value_parser = parsed::<ServerUrl>)]
    url: ServerUrl,
    /// Model named in the requests [default: the first that the server lists].
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// API key that is sent to the server: an environment variable or a file that holds it.
    #[arg(long, value_name = "env:VARIABLE|file:PATH", value_parser = parsed::<ServerKey>)]
    key: Option<ServerKey>,
    /// PEM file of the only certificate authorities that the server is trusted by [default: the
    /// system's].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// API of the requests, which are always streamed.
    #[arg(long, value_parser = api(), default_value = "chat")]
    api: Api,
    /// Number of requests.
    #[arg(long, value_name = "REQUESTS", default_value = "100", value_parser = number::<usize>(1..=10_000_000))]
    num_prompts: usize,
    /// Requests per second at random times (a Poisson process), whether or not earlier ones have
    /// ended; `inf` sends them as early as `--max-concurrency` allows.
    #[arg(long, value_name = "RATE", default_value = "inf", value_parser = rate)]
    request_rate: Rate,
    /// Most concurrent requests [default: no limit].
    #[arg(long, value_name = "REQUESTS", value_parser = number::<usize>(1..=100_000))]
    max_concurrency: Option<usize>,
    /// Number of concurrent conversations, in place of single requests: each grows turn by turn and
    /// has one request at a time.
    #[arg(long, value_name = "CONVERSATIONS", value_parser = number::<usize>(1..=100_000), conflicts_with_all = ["num_prompts", "request_rate", "max_concurrency"])]
    conversations: Option<usize>,
    /// Length in tokens of prompt and answer at which a conversation ends.
    #[arg(long, value_name = "TOKENS", default_value = "4096", value_parser = number::<u64>(1..=1 << 24), requires = "conversations")]
    grow_to: u64,
    /// Words of a system prompt that all requests share; 0 means no system prompt.
    #[arg(long, value_name = "WORDS", default_value = "0", value_parser = number::<usize>(0..=1 << 24))]
    system_len: usize,
    /// Words of a question; a word is about a token, and the report has the server's count of
    /// tokens.
    #[arg(long, value_name = "WORDS", default_value = "128", value_parser = number::<usize>(1..=1 << 24))]
    input_len: usize,
    /// Most tokens of an answer.
    #[arg(long, value_name = "TOKENS", default_value = "128", value_parser = number::<usize>(1..=1 << 24))]
    output_len: usize,
    /// Temperature of all requests.
    #[arg(long, value_name = "T", default_value = "0", value_parser = temperature)]
    temperature: f64,
    /// JSON object of fields to add to each request or to replace, such as `{"ignore_eos": true}`.
    #[arg(long, value_name = "JSON", value_parser = object)]
    extra_body: Option<Map<String, Value>>,
    /// Seed of the random words and arrival times.
    #[arg(long, value_name = "N", default_value = "0", value_parser = number::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Most seconds that an answer may take.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = number::<u64>(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    output: OutputArguments,
}

/// Requests per second; none: no limit.
type Rate = Option<f64>;

pub(super) fn run(arguments: &BenchServeArguments) -> anyhow::Result<ExitCode> {
    let output = arguments.output.open()?;
    let load = arguments.load();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("can't start the runtime")?;
    let report = runtime.block_on(async {
        let title = arguments.url.to_string();
        let target = BenchTarget::new(arguments.target()).await.map_err(anyhow::Error::msg)?;
        let target = Arc::new(target);
        let title = format!("{} at {title}", target.model());
        let total = arguments.conversations.is_none().then_some(arguments.num_prompts);
        let (records, took) = serve::run(target, &load, &mut |progress| tell(progress, total)).await;
        anyhow::Ok(ServeReport { title, took, records })
    })?;
    show("", true);
    print(&mut std::io::stdout().lock(), &report)?;
    output.write(|| report.csv().to_string(), || report.svg())?;
    anyhow::ensure!(report.answers().next().is_some(), "no request was answered{}", said(&report));
    Ok(ExitCode::SUCCESS)
}

/// Kinds of failures with their counts, after a colon; empty if there are none.
fn said(report: &ServeReport) -> String {
    let kinds = report.failures();
    let kinds: Vec<String> = kinds.iter().map(|(failure, count)| format!("{count} × {failure}")).collect();
    if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) }
}

impl BenchServeArguments {
    fn load(&self) -> Load {
        let arrivals = match self.conversations {
            Some(count) => Arrivals::Conversations(Conversations { count, grow_to: self.grow_to }),
            None => Arrivals::Single {
                requests: self.num_prompts,
                rate: self.request_rate,
                concurrency: self.max_concurrency,
            },
        };
        let Self { system_len, input_len, output_len, seed, .. } = *self;
        Load { arrivals, system_len, input_len, output_len, seed }
    }

    fn target(&self) -> TargetOptions {
        let mut extra = Map::from_iter([("temperature".to_owned(), self.temperature.into())]);
        extra.extend(self.extra_body.clone().unwrap_or_default());
        TargetOptions {
            url: self.url.clone(),
            model: self.model.clone(),
            key: self.key.clone(),
            ca_file: self.ca.clone(),
            api: self.api,
            extra,
            timeout: Duration::from_secs(self.timeout),
        }
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    let given = text.parse().ok().filter(|t: &f64| t.is_finite() && *t >= 0.0);
    given.ok_or_else(|| format!("{text} is no temperature"))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))
}

/// Shows the load's progress, as a bar if the total is known.
fn tell(BenchProgress { done, failed, running }: BenchProgress, total: Option<usize>) {
    const WIDTH: usize = 30;
    let bar = total.map(|total| {
        let filled = WIDTH * done / total.max(1);
        format!("[{}{}] {done} of {total}", "#".repeat(filled), "-".repeat(WIDTH - filled))
    });
    let bar = bar.unwrap_or_else(|| format!("{done} done"));
    show(&format!("{bar}, {failed} failed, {running} under way"), false);
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far below 2⁵³")]
fn print(out: &mut impl Write, report: &ServeReport) -> std::io::Result<()> {
    let (answers, tokens) = (report.answers().count(), report.tokens());
    writeln!(out, "{}", Escaped(&report.title))?;
    writeln!(
        out,
        "answers   {answers} of {} requests in {:.2} s{}",
        report.records.len(),
        report.took.as_secs_f64(),
        said(report)
    )?;
    writeln!(
        out,
        "tokens    {} of prompts ({} cached, {:.1} %), {} of answers",
        tokens.prompt,
        tokens.cached,
        100.0 * tokens.hit_rate(),
        tokens.output
    )?;
    if report.uncounted() > 0 {
        writeln!(out, "          of {} answers the server counted none", report.uncounted())?;
    }
    let per_second = |amount: u64| report.per_second(amount as f64);
    writeln!(
        out,
        "per s     {:.2} requests, {:.1} tokens of answers, {:.1} tokens in all",
        report.per_second(answers as f64),
        per_second(tokens.output),
        per_second(tokens.prompt + tokens.output)
    )?;
    let mut table = Table::new(["MS", "MEAN", "P50", "P90", "P99", "OF"]);
    for (name, quantiles) in report.times() {
        table.row(times(name, quantiles));
    }
    write!(out, "\n{table}")?;
    print_turns(out, report)
}

fn times(name: &str, quantiles: Option<Quantiles>) -> [String; 6] {
    let Some(Quantiles { count, mean, p50, p90, p99 }) = quantiles else {
        return [name.to_owned(), "-".into(), "-".into(), "-".into(), "-".into(), "0".into()];
    };
    let [mean, p50, p90, p99] = [mean, p50, p90, p99].map(|time| format!("{:.2}", 1e3 * time));
    [name.to_owned(), mean, p50, p90, p99, count.to_string()]
}

fn print_turns(out: &mut impl Write, report: &ServeReport) -> std::io::Result<()> {
    let turns = report.turns();
    if turns.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["TURN", "ANSWERS", "PROMPT TOKENS", "CACHED", "HIT RATE", "TTFT P50", "P90"]);
    for (turn, of) in turns.iter().enumerate() {
        let ttft = |time: fn(Quantiles) -> f64| {
            of.ttft.map_or_else(String::new, |all| format!("{:.2}", 1e3 * time(all)))
        };
        table.row([
            (turn + 1).to_string(),
            of.answers.to_string(),
            of.tokens.prompt.to_string(),
            of.tokens.cached.to_string(),
            format!("{:.1} %", 100.0 * of.tokens.hit_rate()),
            ttft(|all| all.p50),
            ttft(|all| all.p90),
        ]);
    }
    write!(out, "\n{table}")
}
