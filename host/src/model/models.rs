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
use super::shared::{SharedOptions, SharedParts};
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
        let shared = SharedParts::new(shared, &limits.parser)?;
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

#[cfg(test)]
mod tests {
    use engine::batch::Batch;
    use engine::runner::{Draws, RunError, Runner, RunnerShape, Sampled};
    use engine::{LocalEngine, LocalOptions};

    use super::*;
    use crate::model::error::StartError;
    use crate::model::fixture::model_over;
    use crate::model::job::Job;
    use crate::model::standing::tests::job;
    use crate::prompt::{Conversation, Message, Role};

    /// A device that is lost in its first step.
    struct Doomed(RunnerShape);

    impl Runner for Doomed {
        fn shape(&self) -> &RunnerShape {
            &self.0
        }

        fn forward(&mut self, _: &Batch) -> Result<(), RunError> {
            Err(RunError::Lost("it fell off the bus".into()))
        }

        fn sample(&mut self, _: &Draws<'_>) -> Result<(), RunError> {
            Err(RunError::Order("sample"))
        }

        fn collect(&mut self) -> Result<&Sampled, RunError> {
            Err(RunError::Order("collect"))
        }
    }

    #[tokio::test]
    async fn a_model_whose_device_is_lost_is_heard_of() {
        let shape = RunnerShape {
            name: "doomed".into(),
            vocab: 4096,
            context: 4096,
            batch_tokens: 512,
            block_size: 16,
            blocks: 256,
            lanes: 4,
            ahead: 1,
        };
        let model = model_over(LocalEngine::start(Box::new(Doomed(shape)), LocalOptions::default()));
        let models = Models { all: [model].into() };
        assert!(models.are_alive() && futures_util::poll!(std::pin::pin!(models.lost())).is_pending());
        let conversation =
            Conversation { messages: vec![Message::text(Role::User, "Are you there?")], tools: Vec::new() };
        // Its device is lost in the first step: the request is refused, or ends with an error.
        let started = models.first().start(Job { conversation, ..job() }).await;
        assert!(matches!(started, Ok(_) | Err(StartError::Engine(_))));
        assert_eq!(models.lost().await, "the device is lost: it fell off the bus; start the server again");
        assert!(!models.are_alive());
    }
}
