//! `host rm`: removes models from the cache. On a terminal it asks first; elsewhere it does so only
//! where it is told to.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::bail;
use hub::{HubName, Removal, size};
use net::printable::Escaped;

use crate::cli::pull::hub_name;
use crate::cli::stderr;

#[derive(clap::Args)]
pub(in crate::cli) struct RmArguments {
    /// Models, as `models` names them: ORG/NAME for all that the cache has of a repository, with
    /// @REVISION for a branch, a tag or a commit alone, with :QUANT or :FILE.gguf for a GGUF file alone.
    #[arg(required = true, value_name = "ORG/NAME[@REVISION][:QUANT]", value_parser = hub_name)]
    models: Vec<HubName>,
    /// Remove without a question.
    #[arg(short, long)]
    yes: bool,
}

/// Removes the models, one after the other. The exit status is 1 if the user doesn't want one removed.
pub(in crate::cli) fn remove(arguments: &RmArguments) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for name in &arguments.models {
        let removal = Removal::plan(name)?;
        if arguments.yes || is_wanted(name, &removal)? {
            let freed = removal.run()?;
            let said = format!("removed {name}: {} freed ({freed} bytes)\n", size(freed));
            std::io::stdout().lock().write_all(said.as_bytes())?;
        } else {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Asks the user.
fn is_wanted(name: &HubName, removal: &Removal) -> anyhow::Result<bool> {
    let what = format!("{name}: {}, {}", size(removal.bytes()), removal.what());
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!("{what}: --yes removes it");
    }
    stderr::write(format!("{}\nremove it? y/n> ", Escaped(what)).as_bytes());
    stderr::flush();
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "yes"))
}
