//! The routes, as a table, and the layers around them.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use futures_util::FutureExt;
use tower::ServiceBuilder;
use tower::util::option_layer;

use crate::accept::access::{HostCheck, ListenAddress, check_host};
use crate::accept::app::App;
use crate::accept::body::discard_unasked;
use crate::accept::named::Named;
use crate::http::answer::{identify, json, refuse};
use crate::http::auth::require_key;
use crate::http::compact::compact;
use crate::http::conversations;
use crate::http::cors;
use crate::http::count::{count_messages, count_responses};
use crate::http::excess::refuse_excess;
use crate::http::guard::refuse_malformed;
use crate::http::methods::{DRAINING, get_only, no_route, post_only};
use crate::http::probes::probes;
use crate::http::request_log::log;
use crate::http::server_info::{index, list_models, one_model, scrape, version};
use crate::http::stored;
use crate::http::stream::generate;
use crate::http::tokens;
use crate::page::{self, InspectorLink, answer_browsers};
use crate::ws;
use api::error::ApiError;
use api::{Protocol, openapi};

/// A route: methods, path and handler.
type Route = (&'static [&'static str], &'static str, MethodRouter<App>);

/// All routes, for a listener on `listen`; `inspector` is where the operator's page is.
pub(crate) fn router(app: App, listen: IpAddr, inspector: Option<InspectorLink>) -> Router {
    let pages = Some(app.access.named.clone());
    let keyed = behind_key(&app, routes(keyed()).fallback(no_route));
    let keyed = keyed.layer(Extension(inspector)).layer(Extension(ListenAddress(listen)));
    let keyed = if app.access.no_page {
        keyed
    } else {
        keyed.layer(from_fn(answer_browsers)).route("/page/{file}", get_only(page::file))
    };
    let routes = routes(open()).merge(figures(&app)).merge(keyed);
    layered(app, listen, pages, routes)
}

fn routes(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, (_, path, handler)| router.route(path, handler))
}

/// Routes that require no key.
fn open() -> Vec<Route> {
    probes().into_iter().map(|(path, handler)| (&["get"][..], path, handler)).collect()
}

/// The route of Prometheus, which also shows how far a drain is.
fn scraped() -> Vec<Route> {
    vec![get_at("/metrics", scrape)]
}

/// Routes for new work, which require a key if any is set. With `open` and `scraped` they equal the
/// paths in `api::openapi`.
fn keyed() -> Vec<Route> {
    vec![
        at(&["post", "get"], "/v1/responses", responses()),
        post_at("/v1/responses/input_tokens", count_responses),
        post_at("/v1/responses/compact", compact),
        at(&["get", "delete"], "/v1/responses/{id}", get(stored::one).delete(stored::delete)),
        post_at("/v1/responses/{id}/cancel", stored::cancel),
        post_at("/v1/responses/{id}/end_reasoning", stored::end_reasoning),
        get_at("/v1/responses/{id}/input_items", stored::input_items),
        post_at("/v1/conversations", conversations::create),
        at(
            &["get", "post", "delete"],
            "/v1/conversations/{id}",
            get(conversations::get).post(conversations::update).delete(conversations::delete),
        ),
        at(
            &["post", "get"],
            "/v1/conversations/{id}/items",
            post(conversations::add).get(conversations::list),
        ),
        at(
            &["get", "delete"],
            "/v1/conversations/{id}/items/{item_id}",
            get(conversations::item).delete(conversations::remove),
        ),
        at(
            &["post", "get"],
            "/v1/chat/completions",
            post(|app, request| generate(app, request, Protocol::Chat)).get(stored::completions),
        ),
        at(
            &["get", "post", "delete"],
            "/v1/chat/completions/{id}",
            get(stored::completion).post(stored::update_completion).delete(stored::delete_completion),
        ),
        get_at("/v1/chat/completions/{id}/messages", stored::completion_messages),
        post_at("/v1/completions", |app, request| generate(app, request, Protocol::Completions)),
        post_at("/v1/messages", |app, request| generate(app, request, Protocol::Messages)),
        post_at("/v1/messages/count_tokens", count_messages),
        post_at("/tokenize", tokens::tokenize),
        post_at("/detokenize", tokens::detokenize),
        get_at("/tokenizer_info", tokens::tokenizer_info),
        get_at("/", index),
        get_at("/v1/models", list_models),
        get_at("/v1/models/{*id}", one_model),
        get_at("/version", version),
        get_at("/openapi.json", async || json(200, openapi::json().to_owned())),
    ]
}

fn get_at<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H) -> Route {
    (&["get"], path, get_only(handler))
}

fn post_at<H: Handler<T, App>, T: 'static>(path: &'static str, handler: H) -> Route {
    (&["post"], path, post_only(handler))
}

/// A route with several methods, all of which `handler` has; others get 405.
fn at(methods: &'static [&'static str], path: &'static str, handler: MethodRouter<App>) -> Route {
    let fallback = async move |method: Method| {
        refuse(&ApiError::method_not_allowed(method.as_str(), &methods.join(", ").to_uppercase()))
    };
    (methods, path, handler.fallback(fallback))
}

/// The figures of the server: if keys are set, with one only, unless the operator says that they are
/// public.
pub(crate) fn figures(app: &App) -> Router<App> {
    let routes = routes(scraped());
    if app.access.public_metrics {
        routes
    } else {
        routes.layer(from_fn_with_state(app.clone(), require_key))
    }
}

/// These routes for new work only, and if keys are set, with one only.
pub(crate) fn behind_key(app: &App, routes: Router<App>) -> Router<App> {
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(app.clone(), require_key))
        .layer(from_fn_with_state(app.clone(), refuse_while_draining));
    routes.layer(layers)
}

/// Adds the layers that every listener has. Pages of the origins in `pages` may read answers.
/// Layers run in their order: id, log, panic guard, excess connections, malformed requests, host, CORS
/// (whose preflights carry no key), those of `routes`. They are one layer for the router, which copies all
/// that are below each of its own for every request.
pub(crate) fn layered(app: App, listen: IpAddr, pages: Option<Named>, routes: Router<App>) -> Router {
    let check = HostCheck::new(&app.access, listen);
    let layers = ServiceBuilder::new()
        .layer(from_fn(identify))
        .layer(from_fn(log))
        .layer(from_fn(survive_panics))
        .layer(from_fn_with_state(app.clone(), refuse_excess))
        .layer(from_fn_with_state(app.clone(), refuse_malformed))
        .layer(from_fn_with_state(check, check_host))
        .layer(option_layer(pages.map(|named| from_fn_with_state(named, cors::answer))));
    routes.layer(layers).with_state(app)
}

/// Handler of `/v1/responses`: requests, and upgrades to a WebSocket.
fn responses() -> MethodRouter<App> {
    let handler = |app: State<App>, request: Request| generate(app, request, Protocol::Responses);
    post(handler).get(ws::upgrade)
}

/// Middleware: 503 for a request that comes after the signal to stop.
async fn refuse_while_draining(State(app): State<App>, request: Request, next: Next) -> Response {
    if !app.stopping.is_cancelled() {
        return next.run(request).await;
    }
    discard_unasked(request, &app.limits.http).await;
    refuse(&ApiError::unavailable(DRAINING))
}

/// Middleware: a handler's panic becomes a 500 of its own request only.
async fn survive_panics(request: Request, next: Next) -> Response {
    AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a request handler panicked");
        refuse(&ApiError::internal("The server failed to handle this request."))
    })
}

#[cfg(test)]
mod tests {
    use super::{keyed, open, scraped};
    use api::openapi::paths;

    #[test]
    fn the_document_has_the_routes_and_no_others() {
        let served = [open(), scraped(), keyed()].concat();
        let mut served: Vec<(&str, String)> = served
            .iter()
            .flat_map(|(methods, path, _)| methods.iter().map(|method| (*method, path.replace("{*", "{"))))
            .collect();
        let mut described: Vec<(&str, String)> =
            paths().map(|(method, path)| (method, path.to_owned())).collect();
        served.sort();
        described.sort();
        assert_eq!(served, described);
    }
}
