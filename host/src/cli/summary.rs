//! The summary that `host serve` prints when it listens: what is served, and a command to try.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use model::{Model, Models};
use net::printable::Escaped;

/// Time for stdout to take the summary; the server serves on without it.
const PRINT_TIME: Duration = Duration::from_secs(1);

/// Prints the summary. An output that is closed, full or not read is no reason not to serve.
pub(super) fn announce(summary: String) {
    let (sender, written) = sync_channel(1);
    let print = move || {
        let mut out = io::stdout();
        let _ = sender.try_send(out.write_all(summary.as_bytes()).and_then(|()| out.flush()));
    };
    let begun = std::thread::Builder::new().name("summary".to_owned()).spawn(print).is_ok();
    if !(begun && matches!(written.recv_timeout(PRINT_TIME), Ok(Ok(())))) {
        tracing::warn!("the summary can't be printed: stdout is closed, full, or nobody reads it");
    }
}

/// The summary, with warnings first. The first address has this scheme, the others are `http`.
pub(super) fn summary(
    models: &Models,
    store: &str,
    scheme: &str,
    addresses: &[(&'static str, SocketAddr)],
    inspects: bool,
    keyed: bool,
    warnings: &[String],
) -> String {
    let mut lines: Vec<String> = warnings.iter().map(|warning| format!("warning  {warning}")).collect();
    let facts = models.iter().flat_map(Model::summary);
    lines.extend(facts.map(|(what, value)| format!("{what:8} {value}")));
    lines.push(format!("store    {store}"));
    let (what, address) = addresses[0];
    let url = format!("{scheme}://{address}");
    lines.push(format!("{what:8} {url}"));
    lines.extend(addresses[1..].iter().map(|(what, address)| format!("{what:8} http://{address}")));
    let admin = addresses.iter().find(|(what, _)| inspects && *what == "admin");
    lines
        .extend(admin.map(|(_, address)| {
            format!("inspect  http://{address}/inspector (of one request: ?request=ID)")
        }));
    let name = &models.first().names()[0];
    let key = if keyed { " -H 'authorization: Bearer KEY'" } else { "" };
    lines.push(format!(
        "try      curl -N {url}/v1/responses{key} -H 'content-type: application/json' -d \
         '{{\"model\": \"{name}\", \"stream\": true, \"input\": \"Who are you?\"}}'"
    ));
    lines.into_iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", Escaped(line));
        text
    })
}
