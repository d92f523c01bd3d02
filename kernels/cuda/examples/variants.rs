//! Writes the text that NVRTC compiles for every variant into a folder, for
//! `tests/cuda/compile.sh`: `variants FOLDER ARCH…`, where an architecture is `80` or `90`. A file
//! `N.cu` has the text, with the promises that the check proves; `N.json` has name, architecture,
//! options and the kernels' names.

use std::path::Path;
use std::process::ExitCode;

use cuda_kernels::{Arch, Variant, variants};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let folder = args.next();
    let archs: Option<Vec<Arch>> = args.map(|arg| arch(&arg)).collect();
    let (Some(folder), Some(archs)) = (folder, archs) else {
        eprintln!("usage: variants FOLDER ARCH… (80, 90)");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&folder), &archs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arch(number: &str) -> Option<Arch> {
    let number: u32 = number.parse().ok()?;
    Some(Arch { major: number / 10, minor: number % 10 })
}

fn write(folder: &Path, archs: &[Arch]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let jobs = archs.iter().flat_map(|arch| variants().into_iter().map(move |variant| (*arch, variant)));
    for (i, (arch, variant)) in jobs.enumerate() {
        std::fs::write(folder.join(format!("{i}.cu")), variant.text())?;
        std::fs::write(folder.join(format!("{i}.json")), description(arch, &variant))?;
    }
    Ok(())
}

/// JSON of a variant. Names and options have no character that JSON would escape.
fn description(arch: Arch, variant: &Variant) -> String {
    let quoted =
        |items: &[String]| items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(", ");
    let entries: Vec<String> = variant.source.entries().iter().map(ToString::to_string).collect();
    format!(
        "{{\"name\": \"{variant}\", \"arch\": \"{arch}\", \"options\": [{}], \"entries\": [{}]}}\n",
        quoted(&variant.options(arch)),
        quoted(&entries)
    )
}
