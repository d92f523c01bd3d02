//! The inspector's page, on the admin address. What it shows it asks for with the operator's key.

use axum::extract::Path;
use axum::response::Response;
use http::{Method, Uri};

use crate::page_files::PageFiles;

/// The document and its files.
pub(crate) const FILES: PageFiles = PageFiles {
    index: include_str!("page/index.html"),
    own: &[
        ("address.js", include_str!("page/address.js")),
        ("answers.js", include_str!("page/answers.js")),
        ("api.js", include_str!("page/api.js")),
        ("beat_view.js", include_str!("page/beat_view.js")),
        ("checks.js", include_str!("page/checks.js")),
        ("detail.js", include_str!("page/detail.js")),
        ("dialogs.js", include_str!("page/dialogs.js")),
        ("drop.js", include_str!("page/drop.js")),
        ("items.js", include_str!("page/items.js")),
        ("keys.js", include_str!("page/keys.js")),
        ("lanes.css", include_str!("page/lanes.css")),
        ("lanes.js", include_str!("page/lanes.js")),
        ("line.js", include_str!("page/line.js")),
        ("links.js", include_str!("page/links.js")),
        ("main.js", include_str!("page/main.js")),
        ("overview.js", include_str!("page/overview.js")),
        ("phases.js", include_str!("page/phases.js")),
        ("player.js", include_str!("page/player.js")),
        ("prompt.css", include_str!("page/prompt.css")),
        ("prompt.js", include_str!("page/prompt.js")),
        ("search.js", include_str!("page/search.js")),
        ("style.css", include_str!("page/style.css")),
        ("trace.js", include_str!("page/trace.js")),
        ("words.js", include_str!("page/words.js")),
    ],
};

/// `GET /inspector`.
pub(crate) async fn page() -> Response {
    FILES.document()
}

/// `GET /inspector/{file}`.
pub(crate) async fn file(Path(name): Path<String>, method: Method, uri: Uri) -> Response {
    FILES.file(&name, method, uri).await
}
