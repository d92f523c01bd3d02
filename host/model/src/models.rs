//! The models of a process, found by the names that clients ask for.
//!
//! Invariants: there is at least one model, and no two models have the same name. They share one
//! runtime for parsers and one set of threads.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::load_error::ModelLoadError;
use super::load_progress::LoadProgress;
use super::locate::{EMBEDDED_NAME, default_name};
use super::options::ModelOptions;
use super::parsers::ParserReport;
use super::served::Model;
use super::shared::{SharedOptions, SharedParts};
use crate::limits::ModelLimits;

/// The models of a process. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    /// The models in the operator's order; never empty.
    all: Arc<[Model]>,
}

impl Models {
    /// Loads one model after the other. `progress` is called with a model's label.
    ///
    /// # Errors
    /// Two models have the same name, which is checked before any model is loaded; or one can't be
    /// loaded.
    pub fn load(
        first: &ModelOptions,
        others: &[ModelOptions],
        shared: &SharedOptions,
        limits: &ModelLimits,
        progress: &mut dyn FnMut(&str, LoadProgress<'_>),
    ) -> Result<Self, ModelLoadError> {
        let options = || std::iter::once(first).chain(others);
        check_names(options())?;
        let shared = SharedParts::new(shared, &limits.parser)?;
        let load = |options| {
            let loaded = Model::load(options, &shared, limits, progress);
            if others.is_empty() { loaded } else { loaded.map_err(|error| error.of(name_of(options))) }
        };
        let all: Arc<[Model]> = options().map(load).collect::<Result<_, _>>()?;
        if all.iter().any(Model::takes_masks) {
            shared.grammars.prepare();
        }
        Ok(Self { all })
    }

    /// All models, in the operator's order.
    pub fn iter(&self) -> std::slice::Iter<'_, Model> {
        self.all.iter()
    }

    /// The first model.
    pub fn first(&self) -> &Model {
        &self.all[0]
    }

    /// The model that clients call `name`.
    pub fn find(&self, name: &str) -> Option<&Model> {
        self.iter().find(|model| model.is_named(name))
    }

    /// The model, if there is only one.
    pub fn only(&self) -> Option<&Model> {
        if let [only] = &*self.all { Some(only) } else { None }
    }

    /// Whether the engines of all models take requests.
    pub fn are_alive(&self) -> bool {
        self.iter().all(Model::is_alive)
    }

    /// Waits until the device of a model is lost, and returns the reason. The process should then
    /// end and be started again.
    pub async fn lost(&self) -> String {
        let mut looks = tokio::time::interval(Duration::from_millis(500));
        loop {
            looks.tick().await;
            if let Some(reason) = self.iter().find_map(Model::lost) {
                return reason.to_owned();
            }
        }
    }

    /// Reloads the parser of every model if its files changed ([`Model::reload_parsers`]). `cause`
    /// is for logs.
    pub async fn reload_parsers(&self, cause: &'static str) -> Vec<ParserReport> {
        let mut reports = Vec::with_capacity(self.all.len());
        for model in self {
            reports.push(model.reload_parsers(cause).await);
        }
        reports
    }

    /// Starts at once to watch the plugin files of every model ([`Model::follow_plugin_files`]);
    /// the future is never ready.
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

/// Name of a model in errors.
fn name_of(options: &ModelOptions) -> &str {
    options.served_names.first().or(options.model.as_ref()).map_or(EMBEDDED_NAME, String::as_str)
}

/// Refuses options that give two models the same name.
fn check_names<'a>(options: impl Iterator<Item = &'a ModelOptions>) -> Result<(), ModelLoadError> {
    let mut taken = HashSet::new();
    for options in options {
        let mut names = options.served_names.clone();
        if names.is_empty() {
            names.push(default_name(options.model.as_deref())?);
        }
        // One model may list a name twice.
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
    use crate::error::StartError;
    use crate::fixture::model_over;
    use crate::job::Job;
    use crate::opening_state::tests::job;
    use prompt::{ChatMessage, Conversation, Role};

    /// Runner whose device is lost in the first step.
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

    fn doomed() -> Model {
        let shape = RunnerShape {
            name: "doomed".into(),
            vocab: 4096,
            context: 4096,
            batch_tokens: 512,
            score_rows: 3,
            block_size: 16,
            blocks: 256,
            lanes: 4,
            states: None,
            ahead: 1,
        };
        model_over(LocalEngine::start(Box::new(Doomed(shape)), LocalOptions::default()))
    }

    #[tokio::test]
    async fn panic_while_a_prompt_is_made_fails_its_request_alone() {
        let model = doomed();
        for _ in 0..3 {
            let prepared: Result<(), _> = model.prepare(|_, _| panic!("injected")).await;
            assert_eq!(prepared, Err(StartError::Internal));
        }
        assert_eq!(model.prepare(|_, _| Ok(7)).await, Ok(7));
    }

    #[tokio::test]
    async fn a_model_whose_device_is_lost_is_heard_of() {
        let models = Models { all: [doomed()].into() };
        assert!(models.are_alive() && futures_util::poll!(std::pin::pin!(models.lost())).is_pending());
        let conversation = Conversation {
            messages: vec![ChatMessage::text(Role::User, "Are you there?")],
            tools: Vec::new(),
        };
        // The device is lost in the first step: the request is refused, or ends with an error.
        let started = models.first().start(Job { conversation, ..job() }).await;
        assert!(matches!(started, Ok(_) | Err(StartError::Engine(_))));
        assert_eq!(models.lost().await, "the device is lost: it fell off the bus; start the server again");
        assert!(!models.are_alive());
    }
}
