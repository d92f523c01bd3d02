//! Findings of `host doctor`, in their order, and how they are printed.

use std::fmt;
use std::io::Write;

use net::printable::Escaped;
use serde::Serialize;

/// How a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// The server starts; somebody will miss something.
    Warn,
    /// The server doesn't start, or can't do its work.
    Fail,
}

/// What was found about one thing.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    about: &'static str,
    text: String,
}

/// All findings.
#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    findings: Vec<Finding>,
}

impl Findings {
    pub(super) fn add(&mut self, level: Level, about: &'static str, text: impl Into<String>) {
        self.findings.push(Finding { level, about, text: text.into() });
    }

    pub(super) fn ok(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Level::Ok, about, text);
    }

    pub(super) fn warn(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Level::Warn, about, text);
    }

    pub(super) fn fail(&mut self, about: &'static str, text: impl Into<String>) {
        self.add(Level::Fail, about, text);
    }

    /// The value of a check; an error is a failure.
    pub(super) fn value<T>(&mut self, about: &'static str, checked: anyhow::Result<T>) -> Option<T> {
        checked.inspect_err(|error| self.fail(about, format!("{error:#}"))).ok()
    }

    pub(super) fn has_failures(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Fail)
    }

    /// Prints a line for each finding, or all as one JSON object.
    pub(super) fn print(&self, out: &mut impl Write, json: bool) -> std::io::Result<()> {
        if json { writeln!(out, "{}", serde_json::to_string(self)?) } else { write!(out, "{self}") }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { level, about, text } in &self.findings {
            let level = match level {
                Level::Ok => "ok",
                Level::Warn => "warn",
                Level::Fail => "FAIL",
            };
            writeln!(f, "{level:4}  {about:7}  {}", Escaped(text))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_line_and_only_a_failure_fails() {
        let mut findings = Findings::default();
        findings.ok("cpu", "2 threads");
        findings.warn("gpu", "no\nlibrary");
        assert!(!findings.has_failures());
        assert_eq!(findings.value::<()>("port", Err(anyhow::anyhow!("taken"))), None);
        assert!(findings.has_failures());
        let mut text = Vec::new();
        findings.print(&mut text, false).unwrap();
        let lines =
            ["ok    cpu      2 threads", "warn  gpu      no\\u{a}library", "FAIL  port     taken", ""];
        assert_eq!(String::from_utf8(text).unwrap(), lines.join("\n"));
        let mut json = Vec::new();
        findings.print(&mut json, true).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(json["findings"][2]["level"], "fail");
    }
}
