//! Compiled chat template, run as transformers runs it: jinja2's semantics in minijinja, with Python's printing.
//!
//! Bounds: instructions (fuel) and bytes written. A template can't read files, load others or call the host; it can
//! raise an exception, whose message the client gets. Called by `render`.

mod clock;
mod python;
mod source;

use std::io::{self, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

pub(super) use source::rewrite;

/// Error of running a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateError {
    /// The template called `raise_exception` with this message.
    Raised(String),
    /// The template can't take this conversation, for this reason.
    Conversation(String),
    /// The template itself is wrong, for this reason.
    Template(String),
}

/// A compiled template.
#[derive(Debug)]
pub(super) struct Template {
    environment: Environment<'static>,
}

const NAME: &str = "chat_template";

/// Message of `raise_exception`, carried as the source of a minijinja error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

impl Template {
    /// Compiles `source`, which may run `fuel` instructions each time it is rendered. The error is a reason.
    pub(super) fn compile(source: String, fuel: u64) -> Result<Self, String> {
        let mut environment = Environment::new();
        environment.set_syntax(syntax());
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_fuel(Some(fuel));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_formatter(|out, _, value| Ok(out.write_str(&python::str(value)?)?));
        environment.add_filter("string", |value: &Value| python::str(value));
        environment.add_filter("tojson", |value: &Value, kwargs: Kwargs| {
            python::Dumps::from_kwargs(&kwargs)?.dump(value)
        });
        environment.add_test("sequence", is_sequence);
        environment.add_test("iterable", is_iterable);
        environment.add_function("strftime_now", clock::strftime_now);
        environment.add_function("raise_exception", raise_exception);
        environment.add_template_owned(NAME, source).map_err(|error| describe(&error))?;
        Ok(Self { environment })
    }

    /// Runs the template with `variables`; it may write at most `cap` bytes.
    pub(super) fn render(&self, variables: Value, cap: usize) -> Result<String, TemplateError> {
        let template =
            self.environment.get_template(NAME).map_err(|error| TemplateError::Template(describe(&error)))?;
        let mut output = CappedOutput { bytes: Vec::new(), cap };
        template.render_captured_to(variables, &mut output).map_err(|error| classify(&error, cap))?;
        String::from_utf8(output.bytes).map_err(|error| TemplateError::Template(error.to_string()))
    }
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the default delimiters are valid")
}

/// The test `sequence`. jinja2's checks for a length and for items by key, so strings and mappings pass it, too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined)
}

/// The test `iterable`. As in jinja2, `None` doesn't pass it, whatever a loop over `None` does.
fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || value.kind() == ValueKind::Iterable
}

fn raise_exception(message: &Value) -> Result<String, Error> {
    let message = python::str(message)?;
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception").with_source(Raised(message)))
}

fn classify(error: &Error, cap: usize) -> TemplateError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(Raised(message)) = inner.downcast_ref() {
            return TemplateError::Raised(message.clone());
        }
        source = inner.source();
    }
    match error.kind() {
        ErrorKind::OutOfFuel => TemplateError::Conversation(
            "it is too long for the bound on the template's instructions".to_owned(),
        ),
        ErrorKind::WriteFailure => {
            TemplateError::Conversation(format!("the template writes more than {cap} bytes"))
        }
        ErrorKind::UnknownFilter
        | ErrorKind::UnknownTest
        | ErrorKind::UnknownFunction
        | ErrorKind::UnknownMethod
        | ErrorKind::SyntaxError
        | ErrorKind::TemplateNotFound
        | ErrorKind::BadInclude
        | ErrorKind::UnknownBlock => TemplateError::Template(describe(error)),
        _ => TemplateError::Conversation(describe(error)),
    }
}

/// Returns what happened and in which line of the template, as one line.
fn describe(error: &Error) -> String {
    let detail = error.detail().and_then(|detail| detail.lines().next());
    let text =
        detail.map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    match error.line() {
        Some(line) => format!("{text} (line {line} of the template)"),
        None => text,
    }
}

/// Writer that takes at most `cap` bytes; a write beyond them fails.
struct CappedOutput {
    bytes: Vec<u8>,
    cap: usize,
}

impl Write for CappedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.cap - self.bytes.len() {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "output cap reached"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
