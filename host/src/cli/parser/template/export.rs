//! `host parser template export`: prints a response template as it goes into a
//! `tokenizer_config.json` and, with `--proof`, writes a folder that shows what it reads: the
//! template, the cases, and what came of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use super::check::checked;
use super::given::GivenArguments;

#[derive(clap::Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    given: GivenArguments,
    /// Check it, and write template, cases and report into this folder.
    #[arg(long, value_name = "DIR")]
    proof: Option<PathBuf>,
}

pub(super) fn run(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    let template = arguments.given.find()?;
    let value = json!({ "response_template": template.value()? });
    let text = serde_json::to_string_pretty(&value)? + "\n";
    let mut is_sound = true;
    if let Some(folder) = &arguments.proof {
        let (report, cases) = checked(&arguments.given, &template)?;
        is_sound = report.is_sound();
        write(&folder.join("response_template.json"), &text)?;
        write(&folder.join("proof.json"), &(serde_json::to_string_pretty(&report)? + "\n"))?;
        for case in cases {
            let file = folder.join("cases").join(case.name()).with_extension("json");
            write(&file, &(serde_json::to_string_pretty(case.raw())? + "\n"))?;
        }
    }
    write!(anstream::AutoStream::auto(std::io::stdout().lock()), "{text}")?;
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let place = || format!("--proof: {}", file.display());
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).with_context(place)?;
    std::fs::write(file, text).with_context(place)
}
