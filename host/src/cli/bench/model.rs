//! `host bench model`: speed of a model on this machine. Switches have llama-bench's names where it
//! has them.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::bench::model::{self, BenchError, Measured, ModelReport, PARTS, Plan};
use ::model::{LoadProgress, ModelLoadError, RunnerOptions, default_name, load_runner};
use engine::LocalRunner;
use engine::cpu::ReadBuffer;
use engine::runner::Runner;

use super::output::OutputArguments;
use crate::cli::load::{LoadArguments, with_switch};
use crate::cli::log::log_to_stderr;
use crate::cli::progress::{LoadingLine, show};
use crate::cli::table::Table;
use crate::cli::values::number;

#[derive(clap::Args)]
pub(super) struct BenchModelArguments {
    /// Model: a directory in Hugging Face's layout, or ORG/NAME of the Hugging Face hub.
    /// With `--load-format dummy` only its config.json is read [default: the tiny test model inside
    /// the binary].
    #[arg(long, value_name = "DIR|ORG/NAME")]
    model: Option<String>,
    #[command(flatten)]
    load: LoadArguments,
    /// Lengths of prompts; 0 skips this test.
    #[arg(short = 'p', long, value_name = "TOKENS,…", value_delimiter = ',', default_value = "128,512", value_parser = number::<usize>(0..=MAX_TOKENS))]
    n_prompt: Vec<usize>,
    /// Tokens that each sequence generates; 0 skips this test.
    #[arg(short = 'n', long, value_name = "TOKENS", default_value = "64", value_parser = number::<usize>(0..=MAX_TOKENS))]
    n_gen: usize,
    /// Numbers of concurrent sequences; 0 skips this test.
    #[arg(long, value_name = "SEQUENCES,…", value_delimiter = ',', default_value = "1,4,16", value_parser = number::<usize>(0..=1024))]
    parallel: Vec<usize>,
    /// Lengths of contexts at which one sequence is measured in addition. Each context is computed
    /// first, which takes its time [default: none].
    #[arg(short = 'd', long, value_name = "TOKENS,…", value_delimiter = ',', value_parser = number::<usize>(1..=MAX_TOKENS))]
    n_depth: Vec<usize>,
    /// Number of times that each test is run.
    #[arg(short = 'r', long, value_name = "N", default_value = "3", value_parser = number::<usize>(1..=1000))]
    repetitions: usize,
    /// Memory that is read to measure the bandwidth; it should exceed the CPU's caches.
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = number::<usize>(1..=1 << 20))]
    read_buffer: usize,
    #[command(flatten)]
    output: OutputArguments,
}

/// Longest sequence: longer than that of any model.
const MAX_TOKENS: u64 = 1 << 24;
/// Number of passes over memory before and after each repetition; the best one counts.
const READ_PASSES: usize = 3;

pub(super) fn run(arguments: &BenchModelArguments) -> anyhow::Result<ExitCode> {
    // Warnings change what is measured: the CPU instead of a GPU, or own kernels instead of a
    // library's.
    log_to_stderr(false, None, "warn");
    let output = arguments.output.open()?;
    let name = default_name(arguments.model.as_deref())?;
    let load = arguments.load.per_model(&[vec![name.clone()]])?;
    let options = RunnerOptions {
        load_format: load.load_format(0),
        device: load.device(0),
        kv_cache_bytes: arguments.load.kv_cache_of(arguments.load.kv_cache_bytes()),
        context: load.context(0),
        numerics: load.numerics(0),
    };
    arguments.load.load_cuda_libraries()?;
    let devices = arguments.load.devices();
    let begin = Instant::now();
    let mut line = LoadingLine::default();
    let progress = &mut |progress: LoadProgress<'_>| line.show(&name, progress);
    let loaded: Result<_, ModelLoadError> =
        load_runner(arguments.model.as_deref(), options, &devices, progress);
    let mut runner = loaded.map_err(with_switch)?;
    let (loaded, plan) = (begin.elapsed(), arguments.plan());
    plan.check(runner.shape())?;
    let buffer = ReadBuffer::new(devices.threads()?.count(), arguments.read_buffer << 20)
        .map_err(|error| anyhow::Error::from(error).context("--read-buffer"))?;
    let announce = |test, place, of| show(&format!("{place} of {of}: {test}"), false);
    let tests = model::run(&mut runner, &plan, &mut |runner| bandwidth(runner, &buffer), &mut { announce })?;
    show("", true);
    let report = ModelReport { model: name, engine: runner.shape().name.clone(), tests };
    print(&mut std::io::stdout().lock(), &report, loaded)?;
    output.write(|| report.csv().to_string(), || report.svg())?;
    Ok(ExitCode::SUCCESS)
}

/// Bandwidth of the device's memory, in bytes per second.
fn bandwidth(runner: &mut LocalRunner, buffer: &ReadBuffer) -> Result<f64, BenchError> {
    match runner {
        LocalRunner::Cpu(_) => Ok(buffer.bandwidth(READ_PASSES)),
        LocalRunner::Cuda(runner) => Ok(runner.copy_bandwidth(READ_PASSES)?),
    }
}

impl BenchModelArguments {
    fn plan(&self) -> Plan {
        let some = |list: &[usize]| list.iter().copied().filter(|n| *n > 0).collect();
        Plan {
            prompts: some(&self.n_prompt),
            generate: self.n_gen,
            parallel: some(&self.parallel),
            depths: self.n_depth.clone(),
            repetitions: self.repetitions,
        }
    }
}

fn print(out: &mut impl Write, report: &ModelReport, loaded: Duration) -> std::io::Result<()> {
    writeln!(out, "model    {}, loaded in {:.1} s", report.model, loaded.as_secs_f64())?;
    writeln!(out, "engine   {}", report.engine)?;
    let [least, middle, most] = report.read_bandwidth().map(|rate| rate / 1e9);
    writeln!(out, "memory   {middle:.1} GB/s ({least:.1} to {most:.1})")?;
    let mut table = Table::new(["TEST", "TOKENS/S", "BEST", "MB/TOKEN", "OF KV", "GB/S", "OF READS"]);
    for measured in &report.tests {
        table.row(rates(measured));
    }
    write!(out, "\n{table}")?;
    let mut head = [""; PARTS.len() + 1];
    head[0] = "% OF STEP";
    head[1..].copy_from_slice(&PARTS);
    let mut table = Table::new(head);
    for measured in &report.tests {
        table.row(shares(measured));
    }
    write!(out, "\n{table}")
}

/// Rates at the median and the shortest time. Bandwidth is that of the shortest time; its share is
/// the median.
fn rates(measured: &Measured) -> [String; 7] {
    let (weights, cache) = measured.bytes_per_token();
    [
        measured.test.to_string(),
        format!("{:.1}", measured.rate(measured.median())),
        format!("{:.1}", measured.rate(measured.best())),
        format!("{:.3}", weights / 1e6),
        format!("{:.3}", cache / 1e6),
        format!("{:.2}", measured.bandwidth() / 1e9),
        format!("{:.0} %", 100.0 * measured.share_of_reads()),
    ]
}

fn shares(measured: &Measured) -> [String; PARTS.len() + 1] {
    let mut cells = [const { String::new() }; PARTS.len() + 1];
    cells[0] = measured.test.to_string();
    for (cell, share) in cells[1..].iter_mut().zip(measured.counted.shares()) {
        *cell = format!("{:.1}", 100.0 * share);
    }
    cells
}
