//! Which GGUF files of a repository are a model, and which of these a name means. The same rules
//! hold for what the hub lists and for what the cache has.

use std::collections::BTreeMap;

use engine::split_gguf_name;

use super::name::{GgufSelector, is_gguf, is_plain_path, stem};
use super::size::size;
use net::printable::first_of;

/// Parts of the names of files that are no models: projectors of images, statistics, and draft
/// heads (as llama.cpp leaves them out).
const NO_MODELS: [&str; 6] = ["mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"];
/// What is taken of a repository whose name alone is given, the first that is there.
const PREFERRED: [&str; 6] = ["Q4_K_M", "UD-Q4_K_XL", "Q4_K_S", "Q4_0", "MXFP4", "Q8_0"];
/// Models that a message lists.
const SHOWN: usize = 24;

/// A model in one GGUF file, or in parts beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GgufModel {
    /// Paths of its files, in their order; never empty.
    pub(super) paths: Vec<String>,
    /// Path without ending and number.
    name: String,
    bytes: u64,
}

/// Why none of the models is the one that is meant. The text fits behind the repository's name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoChoice {
    /// None matches.
    None(String),
    /// Several match.
    Several(String),
}

/// A part of a model: number, path and size.
type Part<'a> = (usize, &'a str, u64);

/// Models among files: paths and sizes. Those that lack a part, or whose path isn't plain, are left
/// out.
pub(super) fn models<'a>(files: impl Iterator<Item = (&'a str, u64)>) -> Vec<GgufModel> {
    let is_model = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        is_gguf(path) && is_plain_path(path) && !NO_MODELS.iter().any(|part| name.contains(part))
    };
    let mut groups: BTreeMap<(&str, usize), Vec<Part<'_>>> = BTreeMap::new();
    for (path, bytes) in files.filter(|(path, _)| is_model(path)) {
        let (name, number, count) = split_gguf_name(stem(path)).unwrap_or((stem(path), 1, 1));
        groups.entry((name, count)).or_default().push((number, path, bytes));
    }
    let models = groups.into_iter().filter_map(|((name, count), mut parts)| {
        parts.sort_unstable();
        let is_whole = parts.len() == count && parts.iter().zip(1..).all(|(part, number)| part.0 == number);
        is_whole.then(|| GgufModel {
            paths: parts.iter().map(|(_, path, _)| (*path).to_owned()).collect(),
            name: name.to_owned(),
            bytes: parts.iter().fold(0, |sum, (.., bytes)| sum.saturating_add(*bytes)),
        })
    });
    models.collect()
}

impl GgufModel {
    /// Last part of the name, which says how the weights are quantised: `UD-Q4_K_XL`.
    pub(super) fn quant(&self) -> &str {
        let begin = self.name.rfind(['-', '.', '/']).map_or(0, |at| at + 1);
        let is_dynamic = |at: &usize| self.name[*at..begin].eq_ignore_ascii_case("UD-");
        let with_prefix = begin.checked_sub("UD-".len()).filter(is_dynamic);
        &self.name[with_prefix.unwrap_or(begin)..]
    }

    /// Whether `quant` stands in the path, in any case, neither behind a letter or a digit nor
    /// before one, or an underscore.
    fn has_quant(&self, quant: &str) -> bool {
        let (name, quant) = (self.name.to_ascii_lowercase(), quant.to_ascii_lowercase());
        let stands_alone = |at: usize| {
            let before = name[..at].bytes().next_back();
            let behind = name[at + quant.len()..].bytes().next();
            before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
                && behind.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')
        };
        name.match_indices(&quant).any(|(at, _)| stands_alone(at))
    }

    fn has_file_name(&self, file: &str) -> bool {
        self.paths.iter().any(|path| path.rsplit('/').next() == Some(file))
    }
}

/// The model that is meant; without a selector, the one of the preferred quantisation, or the only
/// one.
pub(super) fn choose<'a>(
    models: &'a [GgufModel],
    selector: Option<&GgufSelector>,
) -> Result<&'a GgufModel, NoChoice> {
    let (found, asked) = match selector {
        Some(GgufSelector::File(file)) => (with_file(models, file), file.as_str()),
        Some(GgufSelector::Quant(quant)) => (with_quant(models, quant), quant.as_str()),
        None => {
            let preferred = PREFERRED.iter().map(|quant| (with_quant(models, quant), *quant));
            preferred
                .into_iter()
                .find(|(found, _)| !found.is_empty())
                .unwrap_or((models.iter().collect(), ""))
        }
    };
    match found.as_slice() {
        [model] => Ok(model),
        [] if models.is_empty() => Err(NoChoice::None("it has no GGUF file of a whole model".to_owned())),
        [] => {
            let all = list(models.iter().collect(), GgufModel::quant);
            Err(NoChoice::None(format!("no GGUF file is {asked}; there are {all}")))
        }
        _ if asked.is_empty() => {
            let all = list(found, GgufModel::quant);
            Err(NoChoice::Several(format!("it holds several models; give one behind a colon: {all}")))
        }
        _ => {
            let files = list(found, |model| &model.paths[0]);
            Err(NoChoice::Several(format!("several files are {asked}; give one behind a colon: {files}")))
        }
    }
}

/// The model with the file of this path, or else the models with a file of this name.
fn with_file<'a>(models: &'a [GgufModel], file: &str) -> Vec<&'a GgufModel> {
    match models.iter().find(|model| model.paths.iter().any(|path| path == file)) {
        Some(model) => vec![model],
        None => models.iter().filter(|model| model.has_file_name(file)).collect(),
    }
}

/// Models whose path has the quantisation; if it is the whole quantisation of some, only these: of
/// `x-Q4_K_M` and `x-UD-Q4_K_M` the first is `Q4_K_M`.
fn with_quant<'a>(models: &'a [GgufModel], quant: &str) -> Vec<&'a GgufModel> {
    let mut found: Vec<_> = models.iter().filter(|model| model.has_quant(quant)).collect();
    let is_whole = |model: &&GgufModel| model.quant().eq_ignore_ascii_case(quant);
    if found.iter().any(is_whole) {
        found.retain(is_whole);
    }
    found
}

/// Models with their sizes, small ones first: their paths, or what `name` says where that tells them
/// apart.
fn list<'a>(mut models: Vec<&'a GgufModel>, name: impl Fn(&'a GgufModel) -> &'a str) -> String {
    models.sort_by_key(|model| model.bytes);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for model in &models {
        *counts.entry(name(model).to_ascii_lowercase()).or_default() += 1;
    }
    let shown = models.iter().map(|model| {
        let is_unique = |text: &&str| counts.get(&text.to_ascii_lowercase()) == Some(&1);
        let text = Some(name(model)).filter(is_unique).unwrap_or(&model.paths[0]);
        format!("{text} ({})", size(model.bytes))
    });
    first_of(shown, SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABYTE: u64 = 1_000_000_000;

    fn of(paths: &[&'static str]) -> Vec<GgufModel> {
        models(paths.iter().zip(1..).map(|(path, n)| (*path, n * GIGABYTE)))
    }

    fn chosen(paths: &[&'static str], text: &str) -> Result<String, NoChoice> {
        let selector = match text {
            "" => None,
            file if is_gguf(file) => Some(GgufSelector::File(file.to_owned())),
            quant => Some(GgufSelector::Quant(quant.to_owned())),
        };
        choose(&of(paths), selector.as_ref()).map(|model| model.paths.join(" "))
    }

    #[test]
    fn quant_stands_alone_in_the_path_of_its_file() {
        for (quant, path) in [
            ("q4_k_m", "X-Q4_K_M.gguf"),
            ("Q4_K_M", "x.i1-q4_k_m.gguf"),
            ("Q5_K_M", "x_Q5_K_M-imat.gguf"),
            ("UD-Q4_K_XL", "UD-Q4_K_XL/x-UD-Q4_K_XL-00001-of-00001.gguf"),
            ("UD-IQ1_S", "x-UD-IQ1_S.gguf"),
            ("IQ1_S", "x-UD-IQ1_S.gguf"),
            ("BF16", "BF16/x-00001-of-00001.gguf"),
            ("mxfp4", "x-mxfp4.GGUF"),
        ] {
            assert_eq!(chosen(&["y-Q1_0.gguf", path], quant).as_deref(), Ok(path), "{quant}");
        }
        for (quant, path) in [("F16", "x-BF16.gguf"), ("Q4_K", "x-Q4_K_M.gguf"), ("Q4_0", "x-Q4_0_4_4.gguf")]
        {
            assert!(matches!(chosen(&[path], quant), Err(NoChoice::None(_))), "{quant} is not {path}");
        }
        let plain_first = ["x-UD-Q4_K_M.gguf", "x-Q4_K_M.gguf"];
        assert_eq!(chosen(&plain_first, "Q4_K_M").as_deref(), Ok("x-Q4_K_M.gguf"));
        assert_eq!(chosen(&plain_first, "").as_deref(), Ok("x-Q4_K_M.gguf"));
    }

    #[test]
    fn repository_alone_means_its_preferred_or_only_model() {
        let preferred = ["x-BF16.gguf", "x-Q8_0.gguf", "x-Q4_0.gguf", "x-UD-Q4_K_XL.gguf"];
        assert_eq!(chosen(&preferred, "").as_deref(), Ok("x-UD-Q4_K_XL.gguf"));
        assert_eq!(chosen(&preferred[..2], "").as_deref(), Ok("x-Q8_0.gguf"));
        assert_eq!(chosen(&preferred[..1], "").as_deref(), Ok("x-BF16.gguf"));
        let several = "it holds several models; give one behind a colon: IQ4_XS (1.0 GB), Q6_K (2.0 GB)";
        let found = chosen(&["x-IQ4_XS.gguf", "x-Q6_K.gguf"], "");
        assert_eq!(found, Err(NoChoice::Several(several.to_owned())));
        let none = "it has no GGUF file of a whole model";
        let no_models =
            ["mmproj-F16.gguf", "mtp-x-Q4_0.gguf", "x.imatrix.gguf", "x.bin", "a b.gguf", ".gguf"];
        assert_eq!(chosen(&no_models, ""), Err(NoChoice::None(none.to_owned())));
    }

    #[test]
    fn refusals_list_what_there_is() {
        let paths = ["a/x-Q8_0.gguf", "b/x-Q8_0.gguf", "x-Q2_K.gguf"];
        let none =
            "no GGUF file is Q9; there are a/x-Q8_0.gguf (1.0 GB), b/x-Q8_0.gguf (2.0 GB), Q2_K (3.0 GB)";
        assert_eq!(chosen(&paths, "Q9"), Err(NoChoice::None(none.to_owned())));
        let several =
            "several files are q8_0; give one behind a colon: a/x-Q8_0.gguf (1.0 GB), b/x-Q8_0.gguf (2.0 GB)";
        assert_eq!(chosen(&paths, "q8_0"), Err(NoChoice::Several(several.to_owned())));
        assert_eq!(chosen(&paths, "b/x-Q8_0.gguf").as_deref(), Ok("b/x-Q8_0.gguf"));
        assert_eq!(chosen(&paths, "x-Q2_K.gguf").as_deref(), Ok("x-Q2_K.gguf"));
        assert!(matches!(chosen(&paths, "x-Q8_0.gguf"), Err(NoChoice::Several(_))));
        assert_eq!(chosen(&["x.gguf", "a/x.gguf"], "x.gguf").as_deref(), Ok("x.gguf"));
    }

    #[test]
    fn parts_are_a_model_only_together() {
        let parts = ["x-00002-of-00002.gguf", "x-00001-of-00002.gguf"];
        assert_eq!(chosen(&parts, "").as_deref(), Ok("x-00001-of-00002.gguf x-00002-of-00002.gguf"));
        assert_eq!(chosen(&parts, "x-00002-of-00002.gguf"), chosen(&parts, ""));
        assert_eq!(of(&parts)[0].bytes, 3 * GIGABYTE);
        for lacking in [&parts[..1], &parts[1..], &["x-00001-of-00000.gguf"], &["x-00000-of-00001.gguf"]] {
            assert_eq!(of(lacking), [], "{lacking:?}");
        }
        let hostile = [
            "../x.gguf",
            "/etc/x.gguf",
            "a/../x.gguf",
            ".cache/x.gguf",
            "a//x.gguf",
            r"a\x.gguf",
            "a\nx.gguf",
        ];
        assert_eq!(of(&hostile), []);
    }
}
