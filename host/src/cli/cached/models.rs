//! `host models`: what is in the cache, what it takes on the disk, and which parser each model would
//! get. Nothing is downloaded, and of the weights no more is read than the headers of GGUF files.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use hub::{Inventory, StoredModel, StoredState, inventory, size};
use model::limits::ModelLimits;
use model::{EngineChoice, ExaminedParser, Examiner, ModelOptions, SharedOptions};
use net::printable::Escaped;
use serde_json::{Value, json};
use system::program;

use crate::cli::cache::CacheArgument;
use crate::cli::one_line;
use crate::cli::progress::show;
use crate::cli::stderr;
use crate::cli::table::Table;

#[derive(clap::Args)]
pub(in crate::cli) struct ModelsArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Folder of parsers, as `serve` has it.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    plugins: PathBuf,
    #[command(flatten)]
    cache: CacheArgument,
}

/// A model of the cache, with its parser, or the reason why it can't be served.
struct Listed {
    model: StoredModel,
    parser: Result<ExaminedParser, String>,
}

pub(in crate::cli) fn list(arguments: &ModelsArguments) -> anyhow::Result<ExitCode> {
    let Inventory { folder, models, bytes } = inventory()?;
    let parsers = ParserFinder::new(arguments);
    let models: Vec<Listed> = models.into_iter().map(|model| parsers.listed(model)).collect();
    show("", false);
    stderr::flush();
    let folder = folder.display().to_string();
    let said = if arguments.json {
        let models: Vec<Value> = models.iter().map(Listed::json).collect();
        format!("{}\n", json!({"folder": folder, "bytes": bytes, "models": models}))
    } else {
        table(&models, &folder, bytes)
    };
    std::io::stdout().lock().write_all(said.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Finds models' parsers, as a start does.
struct ParserFinder {
    plugins: PathBuf,
    /// The reason if no parser can run here.
    examiner: Result<Examiner, String>,
}

impl ParserFinder {
    fn new(arguments: &ModelsArguments) -> Self {
        let shared = SharedOptions { parser_cache: arguments.cache.folder(), ..SharedOptions::default() };
        let examiner = Examiner::new(&shared, &ModelLimits::default());
        let examiner = examiner.map_err(|error| one_line(&error.into()));
        Self { plugins: arguments.plugins.clone(), examiner }
    }

    fn listed(&self, model: StoredModel) -> Listed {
        show(&format!("looking at {}", model.name), false);
        let parser = self.parser(&model);
        Listed { model, parser }
    }

    fn parser(&self, model: &StoredModel) -> Result<ExaminedParser, String> {
        if let StoredState::Unusable(reason) = &model.state {
            return Err(reason.clone());
        }
        let path = model.path.to_str().ok_or("its path isn't UTF-8")?.to_owned();
        let options = ModelOptions {
            model: Some(path),
            ..ModelOptions::new(self.plugins.clone(), EngineChoice::Local)
        };
        let examiner = self.examiner.as_ref().map_err(Clone::clone)?;
        examiner.parser(&options).map_err(|error| one_line(&error.into()))
    }
}

impl Listed {
    /// What is worth a line of its own: why there is no parser, or doubt about it.
    fn remark(&self) -> Option<&str> {
        match &self.parser {
            Ok(parser) => (parser.name == "none" || parser.is_doubtful).then_some(&parser.why),
            Err(reason) => Some(reason),
        }
    }

    fn row(&self, now: SystemTime) -> [String; 5] {
        let Self { model, parser } = self;
        let files = match model.files.len() {
            0 | 1 => String::new(),
            files => format!(", {files} files"),
        };
        let form = match (&model.state, model.is_gguf) {
            (StoredState::Unusable(_), _) => "-".to_owned(),
            (StoredState::NoWeights, _) => format!("no weights{files}"),
            (StoredState::Whole, true) => format!("GGUF{files}"),
            (StoredState::Whole, false) => format!("safetensors{files}"),
        };
        let parser = parser.as_ref().map_or("-", |parser| &parser.name).to_owned();
        let age = model.modified.map_or_else(|| "-".to_owned(), |modified| age(modified, now));
        [model.name.to_string(), size(model.bytes), age, form, parser]
    }

    fn json(&self) -> Value {
        let Self { model, parser } = self;
        let files = model.files.iter().map(|(path, bytes)| json!({"path": path, "bytes": bytes}));
        let since_1970 =
            |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let state = match model.state {
            StoredState::Whole => "whole",
            StoredState::NoWeights => "no_weights",
            StoredState::Unusable(_) => "unusable",
        };
        let found = parser.as_ref().ok().map(|parser| {
            let ExaminedParser { name, version, why, is_doubtful } = parser;
            json!({"name": name, "version": version, "why": why, "doubtful": is_doubtful})
        });
        json!({
            "name": model.name.to_string(),
            "repository": model.name.repository(),
            "commit": model.commit,
            "format": if model.is_gguf { "gguf" } else { "safetensors" },
            "state": state,
            "bytes": model.bytes,
            "files": files.collect::<Vec<_>>(),
            "path": model.path.display().to_string(),
            "modified": model.modified.map(since_1970),
            "parser": found,
            "error": parser.as_ref().err(),
        })
    }
}

fn table(models: &[Listed], folder: &str, bytes: u64) -> String {
    if models.is_empty() {
        return format!(
            "no models in {}: get one with: {} pull ORG/NAME\n",
            Escaped(folder),
            program::name()
        );
    }
    let now = SystemTime::now();
    let mut table = Table::new(["MODEL", "SIZE", "DOWNLOADED", "FORM", "PARSER"]);
    for listed in models {
        table.row(listed.row(now));
    }
    let remarks = models.iter().filter_map(|listed| Some((&listed.model.name, listed.remark()?)));
    let remarks: Vec<_> = remarks.map(|(name, why)| format!("{name}: {}\n", Escaped(why))).collect();
    let remarks = remarks.concat();
    format!("{table}{remarks}{} in {}\n", size(bytes), Escaped(folder))
}

/// How long ago a time is, in its largest unit.
fn age(time: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(time).map_or(0, |age| age.as_secs());
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let found = units.iter().find(|(unit, _)| seconds >= *unit);
    found.map_or_else(
        || "just now".to_owned(),
        |(unit, name)| {
            let number = seconds / unit;
            format!("{number} {name}{} ago", if number == 1 { "" } else { "s" })
        },
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::age;

    #[test]
    fn ages_are_in_their_largest_unit() {
        let now = std::time::UNIX_EPOCH + Duration::from_secs(1 << 31);
        for (seconds, text) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7199, "1 hour ago"),
            (86_400 * 400, "400 days ago"),
        ] {
            assert_eq!(age(now - Duration::from_secs(seconds), now), text);
        }
        assert_eq!(age(now + Duration::from_secs(9), now), "just now");
    }
}
