//! The models of a process, by the names that clients ask for.
//!
//! Invariants: there is at least one, and no name is two models'. They share one runtime for parsers and one set of threads.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use engine::models::Progress;
use futures_util::future::join_all;

use super::load_error::ModelLoadError;
use super::locate::default_name;
use super::options::ModelOptions;
use super::parsers::ParserReport;
use super::served::Model;
use super::shared::{Shared, SharedOptions};
use crate::limits::Limits;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    /// In the operator's order; never empty.
    all: Arc<[Model]>,
}

impl Models {
    /// Loads one model after the other. `progress` hears of the weights of the model that it is called with.
    ///
    /// # Errors
    /// Two models have one name, which is found before anything is read; one can't be loaded.
    pub fn load(
        first: &ModelOptions,
        others: &[ModelOptions],
        shared: &SharedOptions,
        limits: &Limits,
        progress: &mut dyn FnMut(&str, Progress),
    ) -> Result<Self, ModelLoadError> {
        let options = || std::iter::once(first).chain(others);
        check_names(options())?;
        let shared = Shared::new(shared, &limits.parser)?;
        let load = |options| {
            let loaded = Model::load(options, &shared, limits, progress);
            if others.is_empty() { loaded } else { loaded.map_err(|error| error.of(options)) }
        };
        Ok(Self { all: options().map(load).collect::<Result<_, _>>()? })
    }

    /// All of them, in the operator's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Model> {
        self.all.iter()
    }

    /// The first.
    pub fn first(&self) -> &Model {
        &self.all[0]
    }

    /// The one that clients call `name`.
    pub fn find(&self, name: &str) -> Option<&Model> {
        self.iter().find(|model| model.is_named(name))
    }

    /// The only one, if there is one only.
    pub fn only(&self) -> Option<&Model> {
        if let [only] = &*self.all { Some(only) } else { None }
    }

    /// Whether all of them can take work.
    pub fn are_alive(&self) -> bool {
        self.iter().all(Model::is_alive)
    }

    /// Ready once the device of one of them is lost, with the reason: then the process should end, and be started again.
    pub async fn lost(&self) -> String {
        let mut looks = tokio::time::interval(Duration::from_millis(500));
        loop {
            looks.tick().await;
            if let Some(reason) = self.iter().find_map(Model::lost) {
                return reason.to_owned();
            }
        }
    }

    /// Looks at the parser's files of every model again ([`Model::reload_parsers`]).
    pub async fn reload_parsers(&self, cause: &'static str) -> Vec<ParserReport> {
        let mut reports = Vec::with_capacity(self.all.len());
        for model in self {
            reports.push(model.reload_parsers(cause).await);
        }
        reports
    }

    /// Begins to watch the plugin files of every model at once ([`Model::follow_plugin_files`]); never ready.
    pub fn follow_plugin_files(&self) -> impl Future<Output = ()> + use<'_> {
        let followed: Vec<_> = self.iter().map(Model::follow_plugin_files).collect();
        async move {
            join_all(followed).await;
        }
    }
}

impl<'a> IntoIterator for &'a Models {
    type Item = &'a Model;
    type IntoIter = std::slice::Iter<'a, Model>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Refuses a name that is two models'.
fn check_names<'a>(options: impl Iterator<Item = &'a ModelOptions>) -> Result<(), ModelLoadError> {
    let mut taken = HashSet::new();
    for options in options {
        let mut names = options.served_names.clone();
        if names.is_empty() {
            names.push(default_name(options.model.as_deref())?);
        }
        // A name that one model was given twice is one name.
        let names: HashSet<String> = names.into_iter().collect();
        if let Some(name) = names.iter().find(|name| taken.contains(*name)) {
            return Err(ModelLoadError::SameName(name.clone()));
        }
        taken.extend(names);
    }
    Ok(())
}
