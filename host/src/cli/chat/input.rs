//! Lines that the user types, read on a thread of their own; `"""` begins and ends a text of several
//! lines. Lines of a terminal are kept in a history file, which only this user may read.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use system::private::{open_private, prepare_folder};

use crate::cli::client::Interrupts;
use crate::cli::data;

/// Name of the history's file in the user's data folder.
const HISTORY: &str = "chat_history";
/// Lines that the history keeps.
const HISTORY_LINES: usize = 1000;
const PROMPT: &str = ">>> ";
const NEXT_PROMPT: &str = "... ";
const QUOTES: &str = "\"\"\"";

type LineEditor = Editor<(), FileHistory>;

/// What the user typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of what was piped in.
    End,
}

pub(super) struct ChatInput {
    /// None while a thread reads.
    editor: Option<LineEditor>,
    history: Option<PathBuf>,
    /// Text with which the next line begins.
    initial: String,
    is_terminal: bool,
}

impl ChatInput {
    pub(super) fn open() -> anyhow::Result<Self> {
        let config = Config::builder().max_history_size(HISTORY_LINES)?.auto_add_history(false).build();
        let mut editor = LineEditor::with_config(config).context("the terminal")?;
        let is_terminal = std::io::stdin().is_terminal();
        let history = data::file(HISTORY).filter(|file| is_terminal && is_usable(file));
        if let Some(file) = history.as_ref().filter(|file| file.exists()) {
            let _ = editor.load_history(file);
        }
        Ok(Self { editor: Some(editor), history, initial: String::new(), is_terminal })
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Lets the next line begin with a text.
    pub(super) fn begin_with(&mut self, text: String) {
        self.initial = text;
    }

    /// Reads a message or a command.
    ///
    /// # Errors
    /// The terminal can't be read.
    pub(super) async fn read(&mut self, interrupts: &mut Interrupts) -> anyhow::Result<Line> {
        let line = self.text(PROMPT, interrupts).await?;
        if let (Line::Text(text), Some(history), Some(editor)) = (&line, &self.history, &mut self.editor) {
            // A line that isn't kept is no reason not to answer it.
            let _ = editor.add_history_entry(text.as_str());
            let _ = editor.append_history(history);
        }
        Ok(line)
    }

    /// Reads a text of one line, or of several between quotes.
    pub(super) async fn text(&mut self, prompt: &str, interrupts: &mut Interrupts) -> anyhow::Result<Line> {
        let first = match self.line(prompt, interrupts).await? {
            Line::Text(first) => first,
            other => return Ok(other),
        };
        let Some(mut text) = first.strip_prefix(QUOTES).map(str::to_owned) else {
            return Ok(Line::Text(first));
        };
        while !text.ends_with(QUOTES) {
            match self.line(NEXT_PROMPT, interrupts).await? {
                Line::Text(next) => {
                    text.push('\n');
                    text.push_str(&next);
                }
                // What isn't ended isn't sent.
                other => return Ok(other),
            }
        }
        text.truncate(text.len() - QUOTES.len());
        Ok(Line::Text(text.trim_matches('\n').to_owned()))
    }

    /// Reads one line on a thread, which outlives this call if Ctrl-C comes as a signal first: so it
    /// does where stdin is no terminal.
    async fn line(&mut self, prompt: &str, interrupts: &mut Interrupts) -> anyhow::Result<Line> {
        let mut editor = self.editor.take().context("stdin is being read")?;
        let (prompt, initial) = (prompt.to_owned(), std::mem::take(&mut self.initial));
        let reading = tokio::task::spawn_blocking(move || {
            let line = editor.readline_with_initial(&prompt, (&initial, ""));
            (editor, line)
        });
        let (editor, line) = tokio::select! {
            read = reading => read.context("the thread that reads stdin")?,
            () = interrupts.next(), if !self.is_terminal => return Ok(Line::Interrupted),
        };
        self.editor = Some(editor);
        match line {
            Ok(text) => Ok(Line::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(anyhow::anyhow!("stdin can't be read: {error}")),
        }
    }
}

/// Whether the history can be kept in this file: nobody else may read it.
fn is_usable(file: &std::path::Path) -> bool {
    let is_prepared = file.parent().is_some_and(|folder| prepare_folder(folder).is_ok());
    is_prepared && open_private(file).is_ok()
}
