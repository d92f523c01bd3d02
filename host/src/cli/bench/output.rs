//! Output files of a benchmark. They are created before it begins, so that a wrong path doesn't
//! cost a long run.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

#[derive(clap::Args)]
pub(super) struct OutputArguments {
    /// Write the results to this file as comma-separated values.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a plot to this file as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Output files that are open.
pub(super) struct Output {
    csv: Option<Target>,
    svg: Option<Target>,
}

struct Target {
    path: PathBuf,
    switch: &'static str,
    file: File,
}

impl OutputArguments {
    /// Creates the files.
    ///
    /// # Errors
    /// A file can't be created.
    pub(super) fn open(&self) -> anyhow::Result<Output> {
        Ok(Output { csv: open(self.csv.as_ref(), "--csv")?, svg: open(self.svg.as_ref(), "--svg")? })
    }
}

impl Output {
    /// Writes the results.
    pub(super) fn write(
        self,
        csv: impl FnOnce() -> String,
        svg: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        if let Some(target) = self.csv {
            target.write(&csv())?;
        }
        if let Some(target) = self.svg {
            target.write(&svg())?;
        }
        Ok(())
    }
}

impl Target {
    fn write(mut self, text: &str) -> anyhow::Result<()> {
        self.file
            .write_all(text.as_bytes())
            .with_context(|| format!("{} {}", self.switch, self.path.display()))
    }
}

fn open(path: Option<&PathBuf>, switch: &'static str) -> anyhow::Result<Option<Target>> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).with_context(|| format!("{switch} {}", path.display()))?;
    Ok(Some(Target { path: path.clone(), switch, file }))
}
