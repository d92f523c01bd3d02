//! The inspector's page, on the admin address. What it shows it asks for with the operator's key.

use axum::extract::Path;
use axum::response::Response;
use http::{Method, Uri};

use crate::page_files::{PageFiles, files};

/// The document and its files.
pub(crate) const FILES: PageFiles = PageFiles {
    index: include_str!("page/index.html"),
    own: files! {
        "page/":
        "address.js" "answers.js" "api.js" "beat_view.js" "checks.js" "detail.js" "dialogs.js"
        "drop.js" "items.js" "keys.js" "lanes.css" "lanes.js" "line.js" "links.js" "main.js"
        "overview.js" "phases.js" "player.js" "prompt.css" "prompt.js" "search.js" "style.css"
        "trace.js" "words.js"
    },
};

/// `GET /inspector`.
pub(crate) async fn page() -> Response {
    FILES.document()
}

/// `GET /inspector/{file}`.
pub(crate) async fn file(Path(name): Path<String>, method: Method, uri: Uri) -> Response {
    FILES.file(&name, method, uri).await
}
