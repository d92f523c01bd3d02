//! The command line: parses arguments, prints one line for each error, and leaves the work to the
//! library.

mod access;
mod bench;
mod cache;
mod compaction;
mod data;
mod devices;
mod doctor;
mod drafts;
mod ending;
mod engines;
mod health;
mod help;
mod limits;
mod lint;
mod listen;
mod load;
mod log;
mod mcp;
mod models;
mod parser;
mod per_model;
mod progress;
mod seal;
mod serve;
mod shell;
mod stderr;
mod store;
mod summary;
mod table;
mod telemetry;
mod tips;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use model::printable::Escaped;

/// Sluice: an LLM inference server whose output parsers are WebAssembly components.
#[derive(Parser)]
#[command(name = "host", version = parsers::HOST_VERSION, about, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve models over HTTP: Responses API, Chat Completions, Messages, Completions.
    Serve(Box<serve::ServeArguments>),
    /// Measure a model on this machine, or a running server.
    Bench(Box<bench::BenchArguments>),
    /// List the devices that models can run on: the CPU and GPUs, and for each GPU what is missing
    /// to use it.
    Devices(devices::DevicesArguments),
    /// Say what a server with these switches would find on this machine, before it starts. Takes the
    /// switches of `serve`.
    Doctor(Box<doctor::DoctorArguments>),
    /// Ask a running server whether it takes new work, as health checks of containers do.
    Health(health::HealthArguments),
    /// List, create, test and measure output parsers.
    Parser(Box<parser::ParserCommandArguments>),
    /// Show, export, back up, check and delete what a server has stored.
    Store(store::StoreCommandArguments),
    /// Check recorded event streams.
    #[command(subcommand)]
    Stream(StreamCommand),
    /// Print the script with which a shell completes commands and switches.
    Completions(shell::CompletionsArguments),
    /// Write the pages of the manual.
    Man(shell::ManArguments),
}

#[derive(Subcommand)]
enum StreamCommand {
    /// Check a recorded SSE stream of any server, as `curl -N` prints it, against the event
    /// grammar.
    Lint(lint::LintArguments),
}

/// Exit status of a command whose output is closed early: the status that shells report after
/// SIGPIPE.
const BROKEN_PIPE: u8 = 128 + 13;
/// Exit status of wrong arguments, as clap has it.
const USAGE: u8 = 2;

/// Runs the command. An error is one line on stderr with exit status 1. If the output is closed, a
/// command other than `serve` ends silently.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(tip) = tips::for_arguments(&arguments) {
        stderr::write(format!("error: {}\n", Escaped(tip)).as_bytes());
        stderr::flush();
        return ExitCode::from(USAGE);
    }
    let arguments = parse(arguments).unwrap_or_else(|error| refuse(&error));
    let serves = matches!(arguments.command, Command::Serve(_));
    let result = match arguments.command {
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Health(arguments) => health::run(&arguments),
        Command::Parser(arguments) => parser::run(&arguments),
        Command::Store(arguments) => store::run(&arguments),
        Command::Stream(StreamCommand::Lint(arguments)) => lint::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments, command_line()),
        Command::Man(arguments) => shell::manual(&arguments, command_line()),
    };
    let code = match result {
        Ok(code) => code,
        Err(error) if !serves && is_broken_pipe(&error) => ExitCode::from(BROKEN_PIPE),
        Err(error) => {
            stderr::write(format!("error: {}\n", Escaped(one_line(&error))).as_bytes());
            ExitCode::FAILURE
        }
    };
    stderr::flush();
    code
}

fn command_line() -> clap::Command {
    help::arranged(CommandLine::command())
}

fn parse(arguments: Vec<OsString>) -> Result<CommandLine, clap::Error> {
    let mut command = command_line();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    CommandLine::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.root_cause().downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// Prints clap's message and ends the process with clap's exit status. An error is printed as one
/// line, followed by the usage unless only a value is wrong.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if !text.starts_with("error: ") {
        error.exit(); // Help or the version.
    }
    let only_a_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
    let end = if only_a_value { "\n\nFor more" } else { "\n\n" };
    let (said, rest) = text.split_once(end).unwrap_or((&text, ""));
    let tip = if is_stray_word(error) { ": a model is given by --model DIR|ORG/NAME" } else { "" };
    let usage = if only_a_value { String::new() } else { format!("\n{}\n", rest.trim_end()) };
    stderr::write(format!("{}\n{usage}", Escaped(words(said) + tip)).as_bytes());
    stderr::flush();
    std::process::exit(error.exit_code());
}

/// Whether the error is about a word that is no switch, in a place where other programs take a
/// model.
fn is_stray_word(error: &clap::Error) -> bool {
    let word = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let is_serve =
        std::env::args_os().nth(1).is_some_and(|command| command == "serve" || command == "doctor");
    is_serve && error.kind() == ErrorKind::UnknownArgument && word.is_some_and(|word| !word.starts_with('-'))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The error and its causes on one line.
fn one_line(error: &anyhow::Error) -> String {
    words(&format!("{error:#}"))
}
