//! Switches of the commands that ask, and one question with its answer on the screen.

use std::io;

use anyhow::Context;
use serde_json::{Map, Value};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::answer::{AnswerStream, ClientEvent, Finished};
use super::fields::{Field, field, set};
use super::repetition::Repetition;
use super::screen::Screen;
use super::target::{ModelServer, TargetArguments};

#[derive(clap::Args)]
pub(in crate::cli) struct AskArguments {
    #[command(flatten)]
    pub(in crate::cli) target: TargetArguments,
    /// Instructions, which the model sees before everything else.
    #[arg(short, long, value_name = "TEXT")]
    pub(in crate::cli) system: Option<String>,
    /// Field of the request (repeatable), such as `temperature=0` or `reasoning.effort=low`: dots
    /// lead into objects, VALUE is JSON or else a text.
    #[arg(short = 'o', long = "option", value_name = "KEY=VALUE", value_parser = field)]
    pub(in crate::cli) options: Vec<Field>,
    /// Show the model's reasoning on stderr, also where that is no terminal. `--think=LEVEL` sets
    /// how much it reasons, too: `none`, `minimal`, `low`, `medium`, `high`, …
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    think: Option<String>,
    /// Don't show the model's reasoning.
    #[arg(long, conflicts_with = "think")]
    hide_thinking: bool,
    /// Show the answer's text as it is. Without this, and without `NO_COLOR`, a terminal shows its
    /// Markdown.
    #[arg(long)]
    plain: bool,
    /// Say on stderr how many tokens an answer took, and how long.
    #[arg(long)]
    pub(in crate::cli) verbose: bool,
}

impl AskArguments {
    /// Fields of every request: what the switches set, without input and model.
    pub(in crate::cli) fn fields(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("store".to_owned(), false.into());
        if let Some(level) = self.think.as_ref().filter(|level| !level.is_empty()) {
            set(&mut body, &("reasoning.effort".to_owned(), level.as_str().into()));
        }
        for field in &self.options {
            set(&mut body, field);
        }
        body
    }

    pub(in crate::cli) fn screen(&self, shows_text: bool) -> Screen {
        let asked = self.think.is_some().then_some(true);
        Screen::new(if self.hide_thinking { Some(false) } else { asked }, shows_text, self.plain)
    }
}

/// The field that bounds an answer.
const BOUND: &str = "max_output_tokens";
/// Why an answer was stopped that went in circles.
pub(in crate::cli) const REPEATS: &str =
    "the answer repeats itself and was stopped; `-o max_output_tokens=N` sets a bound of your own instead";

/// Exit status after ctrl-c: the one that shells report after SIGINT.
pub(in crate::cli) const INTERRUPTED: u8 = 128 + 2;

/// Ctrl-C. From the time that this is made, it no longer ends the process.
pub(in crate::cli) struct Interrupts(Signal);

impl Interrupts {
    pub(in crate::cli) fn catch() -> anyhow::Result<Self> {
        Ok(Self(signal(SignalKind::interrupt()).context("can't wait for SIGINT")?))
    }

    /// Ends the process at the second one, whatever it is doing: the first may find it waiting for
    /// an output that nobody reads. Never ready.
    pub(in crate::cli) async fn leave_at_second(mut self) {
        self.next().await;
        self.next().await;
        std::process::exit(INTERRUPTED.into());
    }

    /// Waits for the next one.
    pub(in crate::cli) async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// What became of a question.
pub(in crate::cli) enum Asked {
    Ended(Box<Finished>),
    /// The user stopped the answer; with the text that was shown.
    Stopped(String),
    /// The answer went in circles, and was stopped; with the text that was shown.
    Repeating(String),
}

/// Asks, and shows the answer while it comes.
///
/// # Errors
/// The server can't be reached or refuses the request; or stdout can't be written.
pub(in crate::cli) async fn ask(
    target: &ModelServer,
    body: Map<String, Value>,
    screen: &mut Screen,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Asked> {
    let mut text = String::new();
    // A bound of the user's is enough, and a program knows best what it waits for.
    screen.begin(has_format(&body));
    let mut repetition = (screen.shows_text() && !body.contains_key(BOUND)).then(Repetition::default);
    let asked = async {
        let mut answer = target.ask(body).await?;
        screen.warn(answer.warning())?;
        anyhow::Ok(read(&mut answer, screen, &mut text, repetition.as_mut()).await?)
    };
    tokio::select! {
        biased;
        () = interrupts.next() => {}
        asked = asked => {
            screen.end()?;
            return asked.map(|finished| finished.map_or(Asked::Repeating(text), Asked::Ended));
        }
    }
    screen.end()?;
    Ok(Asked::Stopped(text))
}

/// Whether the answer is to be in a format, such as JSON.
fn has_format(body: &Map<String, Value>) -> bool {
    let format = body.get("text").and_then(|text| text.get("format")?.get("type"));
    format.is_some_and(|format| format != "text")
}

/// Shows the answer to its end, or until it repeats itself: then none. `text` gets what it says.
async fn read(
    answer: &mut AnswerStream,
    screen: &mut Screen,
    text: &mut String,
    mut repetition: Option<&mut Repetition>,
) -> io::Result<Option<Box<Finished>>> {
    let mut repeats = |delta: &str| repetition.as_mut().is_some_and(|end| end.add(delta));
    loop {
        match answer.next().await {
            ClientEvent::Reasoning(delta) => {
                screen.reasoning(&delta)?;
                if repeats(&delta) {
                    return Ok(None);
                }
            }
            ClientEvent::Text(delta) => {
                screen.text(&delta)?;
                text.push_str(&delta);
                if repeats(&delta) {
                    return Ok(None);
                }
            }
            ClientEvent::Message => screen.message()?,
            ClientEvent::HostedCall(what) => screen.remark(&format!("[{what}]"))?,
            ClientEvent::End(finished) => return Ok(Some(finished)),
        }
    }
}
