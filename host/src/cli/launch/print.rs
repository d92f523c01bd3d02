//! `--print`: the command as a shell reads it, with the key's variable in place of the key.

use std::ffi::OsString;
use std::io::Write as _;

use super::agents::{AgentCommand, NO_KEY, Setting};
use crate::cli::client::KEY_VARIABLE;

pub(super) fn command(command: &AgentCommand, arguments: &[OsString]) -> std::io::Result<()> {
    let variables = command.told.variables.iter().map(|(name, setting)| match setting {
        Setting::Text(text) => format!("{name}={}", quoted(text)),
        Setting::Key => format!("{name}=\"${{{KEY_VARIABLE}:-{NO_KEY}}}\""),
    });
    let own = command.told.arguments.iter().map(|argument| quoted(argument));
    let users = arguments.iter().map(|argument| quoted(&argument.to_string_lossy()));
    let words: Vec<String> = variables.chain([command.program.to_owned()]).chain(own).chain(users).collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", words.join(" "))?;
    out.flush()
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::quoted;

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_is() {
        for word in ["", "plain-1.2", "a b", "it's", "$HOME `x` \"y\" \\ !", "a\nb", "{\"a\": [1]}", "*"] {
            let output = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(word))).output();
            assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), word);
        }
    }
}
