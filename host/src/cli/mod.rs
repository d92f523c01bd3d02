//! The command line: parses arguments, prints one line for each error, and leaves the work to the
//! library.

mod access;
mod bench;
mod cache;
mod cached;
mod chat;
mod client;
mod compaction;
mod config;
mod data;
mod devices;
mod doctor;
mod drafts;
mod ending;
mod engines;
mod health;
mod help;
mod launch;
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
mod pull;
mod record;
mod reload;
mod replay;
mod run;
mod seal;
mod serve;
mod serve_arguments;
mod settings_file;
mod shell;
mod stderr;
mod store;
mod summary;
mod table;
mod telemetry;
mod tips;
mod tls;
mod values;
mod version;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use config::{ConfigError, Parsed};
use net::printable::Escaped;
use reload::Reload;
use serve_arguments::ServeArguments;
use system::program;

/// Sluice: an LLM inference server whose output parsers are WebAssembly components.
#[derive(Parser)]
#[command(name = program::name(), version = parsers::HOST_VERSION, about, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve models over HTTP: Responses API, Chat Completions, Messages, Completions.
    Serve(Box<ServeArguments>),
    /// Ask a model one question: text on stdout, the way it ended as the exit status.
    Run(Box<run::RunArguments>),
    /// Talk with a model in this terminal.
    Chat(Box<chat::ChatArguments>),
    /// Start a coding agent with a model: Codex, Claude Code, opencode and others.
    Launch(Box<launch::LaunchArguments>),
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
    /// Generate recorded answers again from their inputs, and compare the events.
    Replay(replay::ReplayArguments),
    /// List, create, test and measure output parsers.
    Parser(Box<parser::ParserCommandArguments>),
    /// Download models into the cache that Hugging Face's own tools share.
    Pull(pull::PullArguments),
    /// List the models in the cache of Hugging Face's tools: what each takes on the disk, and which
    /// parser it would get.
    Models(cached::ModelsArguments),
    /// Remove models from the cache of Hugging Face's tools.
    Rm(cached::RmArguments),
    /// Show, export, back up, check and delete what a server has stored.
    Store(store::StoreCommandArguments),
    /// Check recorded event streams.
    #[command(subcommand)]
    Stream(StreamCommand),
    /// Print the script with which a shell completes commands and switches.
    Completions(shell::CompletionsArguments),
    /// Write the pages of the manual.
    Man(shell::ManArguments),
    /// Print the version, the commit, the contracts with parsers and the engines of this binary.
    Version(version::VersionArguments),
}

impl Command {
    /// Whether only the settings are wanted.
    fn prints_config(&self) -> bool {
        let config = match self {
            Self::Serve(arguments) => &arguments.config,
            Self::Doctor(arguments) => &arguments.serve.config,
            Self::Run(arguments) => &arguments.ask.target.config,
            Self::Chat(arguments) => &arguments.ask.target.config,
            Self::Launch(arguments) => &arguments.target.config,
            _ => return false,
        };
        config.is_printed()
    }
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
    let (parsed, line) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(ConfigError::Usage { error, place }) => refuse(&error, place.as_deref()),
        Err(ConfigError::File(error)) => return fail(&error),
    };
    let serves = matches!(line.command, Command::Serve(_));
    let result = if line.command.prints_config() {
        print(&parsed.print())
    } else {
        execute(line.command, arguments, &parsed)
    };
    let code = match result {
        Ok(code) => code,
        Err(error) if !serves && is_broken_pipe(&error) => ExitCode::from(BROKEN_PIPE),
        Err(error) => fail(&one_line(&error)),
    };
    stderr::flush();
    code
}

fn execute(command: Command, arguments: Vec<OsString>, parsed: &Parsed) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(serve) => serve::run(*serve, Reload::new(arguments, parsed)),
        Command::Run(arguments) => run::run(*arguments),
        Command::Chat(arguments) => chat::run(*arguments),
        Command::Launch(arguments) => launch::run(*arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Health(arguments) => health::run(&arguments),
        Command::Parser(arguments) => parser::run(&arguments, &command_line()),
        Command::Pull(arguments) => pull::run(&arguments),
        Command::Models(arguments) => cached::list(&arguments),
        Command::Rm(arguments) => cached::remove(&arguments),
        Command::Replay(arguments) => replay::run(&arguments, &command_line()),
        Command::Store(arguments) => store::run(&arguments),
        Command::Stream(StreamCommand::Lint(arguments)) => lint::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments, command_line()),
        Command::Man(arguments) => shell::manual(&arguments, command_line()),
        Command::Version(arguments) => version::run(&arguments),
    }
}

fn command_line() -> clap::Command {
    help::arranged(CommandLine::command())
}

/// Reads the command line, and the configuration that it names.
fn parse(arguments: &[OsString]) -> Result<(Parsed, CommandLine), ConfigError> {
    let mut parsed = Parsed::of(command_line(), arguments)?;
    let serve = (parsed.command.find_subcommand("serve"), parsed.matches.subcommand_matches("serve"));
    let switches = match serve {
        (Some(serve), Some(matches)) => record::switches::given(serve, matches),
        _ => Vec::new(),
    };
    match CommandLine::from_arg_matches_mut(&mut parsed.matches.clone()) {
        Ok(mut line) => {
            match &mut line.command {
                Command::Serve(arguments) => arguments.record.switches = switches,
                Command::Run(arguments) => arguments.ask.target.models.choose_by_name(),
                Command::Chat(arguments) => arguments.ask.target.models.choose_by_name(),
                Command::Launch(arguments) => arguments.target.models.choose_by_name(),
                _ => {}
            }
            Ok((parsed, line))
        }
        Err(error) => Err(ConfigError::Usage { error: error.format(&mut parsed.command), place: None }),
    }
}

fn print(text: &str) -> anyhow::Result<ExitCode> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn fail(error: &str) -> ExitCode {
    stderr::write(format!("error: {}\n", Escaped(error)).as_bytes());
    stderr::flush();
    ExitCode::FAILURE
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.root_cause().downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// Prints clap's message and ends the process with clap's exit status. An error is printed as one
/// line, followed by the usage unless only a value is wrong.
fn refuse(error: &clap::Error, place: Option<&str>) -> ! {
    let text = error.render().to_string();
    if !text.starts_with("error: ") {
        error.exit(); // Help or the version.
    }
    let usage = match text.split_once("\n\n") {
        Some((_, usage)) if !is_of_a_value(error) => format!("\n{}\n", usage.trim_end()),
        _ => String::new(),
    };
    let tip = if is_stray_word(error) { ": a model is given by --model DIR|ORG/NAME" } else { "" };
    let line = format!("error: {}{tip}", reason(error, place));
    stderr::write(format!("{}\n{usage}", Escaped(line)).as_bytes());
    stderr::flush();
    std::process::exit(error.exit_code());
}

/// What is wrong with the command line, on one line. `place` is where the value stands, if it is a
/// file's.
fn reason(error: &clap::Error, place: Option<&str>) -> String {
    let text = error.render().to_string();
    let end = if is_of_a_value(error) { "\n\nFor more" } else { "\n\n" };
    let said = text.split_once(end).map_or(&*text, |(said, _)| said);
    let said = words(said.strip_prefix("error: ").unwrap_or(said));
    place.map_or_else(|| said.clone(), |place| format!("{place}: {said}"))
}

fn is_of_a_value(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue)
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
