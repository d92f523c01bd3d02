//! `[NAME=]VALUE`: a setting for the model that is served as NAME, or for all models.
//!
//! All such values are read here. NAME consists of letters, digits, `-`, `_` and `.`, and begins
//! with a letter or a digit. Any other text before the first `=`, such as a folder's name with its
//! slash, belongs to the value: `./a=b` is a path.

/// A value as given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ForModel<T> {
    /// Name of the model that the value is for; none: all models.
    pub(super) model: Option<String>,
    pub(super) value: T,
}

/// Parses `[NAME=]VALUE`; `read` parses the value.
pub(super) fn for_model<T>(
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<ForModel<T>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let model = model_of(text, false);
        let value = model.map_or(text, |name| &text[name.len() + 1..]);
        Ok(ForModel { model: model.map(str::to_owned), value: read(value)? })
    }
}

/// Parses `[NAME=]KEY=VALUE`; `read` parses `KEY=VALUE`. The text before the first `=` is a NAME
/// only if the next part is a KEY, which has the characters of a NAME.
pub(super) fn pair_for_model<T>(
    read: impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<ForModel<T>, String> + Clone + Send + Sync + 'static {
    move |text| {
        let model = model_of(text, true);
        let value = model.map_or(text, |name| &text[name.len() + 1..]);
        Ok(ForModel { model: model.map(str::to_owned), value: read(value)? })
    }
}

/// Name of the model in a value, or in a `KEY=VALUE` if the switch takes pairs.
pub(super) fn model_of(text: &str, is_pair: bool) -> Option<&str> {
    let named = split(text).filter(|(_, rest)| !is_pair || split(rest).is_some());
    named.map(|(name, _)| name)
}

fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| is_name(name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Values of one switch, for models that are identified by their index.
#[derive(Debug)]
pub(super) struct PerModel<'a, T>(Vec<(Option<usize>, &'a T)>);

impl<'a, T> PerModel<'a, T> {
    /// Resolves a switch that may be repeated; `models` holds each model's names.
    ///
    /// # Errors
    /// A value names an unknown model.
    pub(super) fn list(
        switch: &str,
        given: &'a [ForModel<T>],
        models: &[Vec<String>],
    ) -> anyhow::Result<Self> {
        let place = |name: &String| {
            models.iter().position(|names| names.contains(name)).ok_or_else(|| {
                let served = models.concat().join(", ");
                anyhow::anyhow!("{switch} {name}=…: no model {name} is served here, only {served}")
            })
        };
        let resolve =
            |ForModel { model, value }: &'a ForModel<T>| Ok((model.as_ref().map(place).transpose()?, value));
        Ok(Self(given.iter().map(resolve).collect::<anyhow::Result<_>>()?))
    }

    /// Resolves a switch that has at most one value per model.
    ///
    /// # Errors
    /// As [`Self::list`]; or two values are given for one model, or two for all models.
    pub(super) fn single(
        switch: &str,
        given: &'a [ForModel<T>],
        models: &[Vec<String>],
    ) -> anyhow::Result<Self> {
        let all = Self::list(switch, given, models)?;
        for (index, (model, _)) in all.0.iter().enumerate() {
            if all.0[..index].iter().any(|(earlier, _)| earlier == model) {
                let whose = model.map_or("all models", |model| &models[model][0]);
                anyhow::bail!("{switch}: given twice for {whose}");
            }
        }
        Ok(all)
    }

    /// Values for a model: those for all models, then its own.
    pub(super) fn all(&self, model: usize) -> impl Iterator<Item = &'a T> {
        let of = |whose: Option<usize>| self.0.iter().filter(move |(given, _)| *given == whose);
        of(None).chain(of(Some(model))).map(|(_, value)| *value)
    }

    /// The value that applies to a model: its own, else the one for all models.
    pub(super) fn one(&self, model: usize) -> Option<&'a T> {
        self.all(model).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::values;

    fn given(text: &str) -> (Option<String>, String) {
        let ForModel { model, value } = for_model(values::text)(text).unwrap();
        (model, value)
    }

    fn pair(text: &str) -> (Option<String>, String) {
        let ForModel { model, value } = pair_for_model(values::text)(text).unwrap();
        (model, value)
    }

    fn named(name: &str, value: &str) -> (Option<String>, String) {
        (Some(name.to_owned()), value.to_owned())
    }

    fn bare(value: &str) -> (Option<String>, String) {
        (None, value.to_owned())
    }

    #[test]
    fn name_is_a_plain_word_and_the_rest_is_the_value() {
        assert_eq!(given("small=dir"), named("small", "dir"));
        assert_eq!(given("Qwen3-0.6B=/models/a=b"), named("Qwen3-0.6B", "/models/a=b"));
        for value in
            ["dir", "./a=b", "models/a=b", "ORG/NAME", "=x", ".a=b", "-a=b", "replay:a=b", "ä=b", "a b=c"]
        {
            assert_eq!(given(value), bare(value));
        }
    }

    #[test]
    fn of_a_pair_the_name_is_what_stands_before_its_key() {
        assert_eq!(pair("a=k=v"), named("a", "k=v"));
        assert_eq!(pair("a=k=v=w"), named("a", "k=v=w"));
        for value in ["k=v", "k=", r#"table={"a": "b=c"}"#, "./x=k=v"] {
            assert_eq!(pair(value), bare(value));
        }
    }

    #[test]
    fn wrong_value_is_refused_with_or_without_a_name() {
        let read = for_model(|text: &str| text.parse::<u8>().map_err(|_| format!("{text} is no number")));
        assert_eq!(read("a=7"), Ok(ForModel { model: Some("a".to_owned()), value: 7 }));
        assert_eq!(read("a=b"), Err("b is no number".to_owned()));
        assert_eq!(read("b"), Err("b is no number".to_owned()));
    }

    fn models() -> [Vec<String>; 2] {
        [vec!["a".to_owned(), "alias".to_owned()], vec!["b".to_owned()]]
    }

    fn values(list: &[(Option<&str>, u8)]) -> Vec<ForModel<u8>> {
        list.iter()
            .map(|(model, value)| ForModel { model: model.map(str::to_owned), value: *value })
            .collect()
    }

    #[test]
    fn models_own_value_counts_and_its_lists_add_up() {
        let given = values(&[(Some("b"), 2), (None, 1)]);
        let of = PerModel::single("--x", &given, &models()).unwrap();
        assert_eq!((of.one(0), of.one(1)), (Some(&1), Some(&2)));
        let given = values(&[(Some("alias"), 3), (None, 1), (Some("a"), 4)]);
        let of = PerModel::list("--x", &given, &models()).unwrap();
        assert_eq!(of.all(0).copied().collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!(of.all(1).copied().collect::<Vec<_>>(), [1]);
        assert_eq!(PerModel::<u8>::single("--x", &[], &models()).unwrap().one(0), None);
    }

    #[test]
    fn unknown_models_and_second_values_are_refused() {
        let refused = |list: &[_]| PerModel::single("--x", &values(list), &models()).unwrap_err().to_string();
        assert_eq!(refused(&[(Some("c"), 1)]), "--x c=…: no model c is served here, only a, alias, b");
        assert_eq!(refused(&[(None, 1), (None, 2)]), "--x: given twice for all models");
        assert_eq!(refused(&[(Some("a"), 1), (Some("alias"), 2)]), "--x: given twice for a");
    }
}
