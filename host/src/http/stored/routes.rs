//! Routes of stored responses: read, follow, cancel, delete, and list the input of one.

use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::{Extension, extract::Request};
use serde::Deserialize;
use store::{Error, Events, Finished, Order, Owner, Page, State as Progress, Target};

use super::super::answer::{json, refuse, to_json};
use super::super::app::App;
use super::super::store_error::{refusal, store};
use super::background::events_of;
use super::follow::follow;
use super::request::StoredRequest;
use crate::accounts::Principal;
use crate::api::error::ApiError;
use crate::api::responses::{Ending, stored};

/// How long a cancelled response that runs here may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// Query of `GET /v1/responses/{id}`.
#[derive(Debug, Default, Deserialize)]
pub(in crate::http) struct Reading {
    stream: Option<bool>,
    starting_after: Option<u64>,
}
