//! The page for people, at `/` of the main address: a chat over this server's own Responses API.
//! Programs get JSON there.
//!
//! The page's files need no key. What it shows it asks for with the key that its reader types, on
//! the routes that every client uses.

mod accept_header;
mod inspector_link;

use axum::extract::{Path, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, Method, Uri, header};

use self::accept_header::prefers_html;
use crate::page_files::{PageFiles, files};

pub(crate) use self::inspector_link::InspectorLink;

/// Where the page is.
const PATH: &str = "/";

/// The document and its files.
pub(crate) const FILES: PageFiles = PageFiles {
    index: include_str!("files/index.html"),
    own: files! {
        "files/":
        "answer.js" "chat.css" "composer.js" "conversation.js" "copy.js" "item_view.js" "keeper.js"
        "list.js" "main.js" "markdown.js" "server.js" "settings.js" "text_files.js" "turn_view.js"
        "words.js"
    },
};

/// Middleware: the page for who asks for `/` and prefers HTML; everybody else gets what follows.
pub(crate) async fn answer_browsers(request: Request, next: Next) -> Response {
    if request.uri().path() != PATH {
        return next.run(request).await;
    }
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let mut response =
        if reads && prefers_html(request.headers()) { FILES.document() } else { next.run(request).await };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// `GET /page/{file}`.
pub(crate) async fn file(Path(name): Path<String>, method: Method, uri: Uri) -> Response {
    FILES.file(&name, method, uri).await
}
