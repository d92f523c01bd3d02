//! Commands of a chat: lines that begin with `/`.

/// What `/help` says.
pub(super) const HELP: &str = r#"/system [TEXT]   set the instructions; without TEXT there are none
/tools [FILE]    take the tools of a JSON file, `none` for none; you are asked for results of calls
/retry           ask the last question again
/edit            take the last question back, and change it
/set [KEY=VALUE] set a field of requests (temperature=0), null removes it; alone: show them
/save FILE       write the conversation to a new file, as the body of a request
/stats           say how many tokens the answers took, and how long
"""              begins and ends a message of several lines
Ctrl-C stops an answer, Ctrl-D leaves"#;

/// A command and its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Help,
    System(&'a str),
    Tools(&'a str),
    Retry,
    Edit,
    Set(&'a str),
    Save(&'a str),
    Stats,
}

/// Reads a line; none if it is no command.
///
/// # Errors
/// There is no such command, or its argument is missing.
pub(super) fn parse(line: &str) -> Result<Option<Command<'_>>, String> {
    let line = line.trim();
    let Some(rest) = line.strip_prefix('/').filter(|_| !line.contains('\n')) else { return Ok(None) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    let command = match (name, argument) {
        ("help" | "?", _) => Command::Help,
        ("system", text) => Command::System(text),
        ("tools", file) => Command::Tools(file),
        ("retry", _) => Command::Retry,
        ("edit", _) => Command::Edit,
        ("set", given) => Command::Set(given),
        ("stats", _) => Command::Stats,
        ("save", "") => return Err("/save FILE: the name of a file is missing".to_owned()),
        ("save", file) => Command::Save(file),
        _ => {
            return Err(format!(
                "no command /{name}: /help lists them; a message that begins so goes between \"\"\""
            ));
        }
    };
    Ok(Some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_line_that_begins_with_a_slash() {
        assert_eq!(parse("/system  Be brief. "), Ok(Some(Command::System("Be brief."))));
        assert_eq!(parse(" /retry"), Ok(Some(Command::Retry)));
        assert_eq!(parse("What is a/b?"), Ok(None));
        assert_eq!(parse("/usr/bin\nis a folder"), Ok(None));
        assert!(parse("/usr/bin").is_err() && parse("/save").is_err() && parse("/").is_err());
    }

    #[test]
    fn help_names_each_command() {
        for name in ["system", "tools", "retry", "edit", "set", "save", "stats"] {
            assert!(HELP.contains(&format!("/{name}")), "{name}");
        }
    }
}
