//! A real server on a free port of the loopback interface, in this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use api::Defaults;
use api::seal::Seal;
use mcp::McpServers;
use model::{EngineChoice, KvCacheBytes, Model, ModelOptions, Models, SharedOptions};
use serde_json::{Value, json};
use server::ServerLimits;
use server::accept::{Access, App, CorsOrigin, HostName, Keys, Named, Tls};
use server::http::{Server, install_metrics};
use store::{Options, Sqlite, Store};
use tokio::sync::oneshot;

/// Configuration of a test server. Its streams are always checked against the event grammar.
#[derive(Clone)]
pub struct Setup {
    /// Options of the first model, with its parser and its engine.
    pub model: ModelOptions,
    /// Options of further models.
    pub others: Vec<ModelOptions>,
    /// Options that all models share.
    pub shared: SharedOptions,
    /// Limits of the server.
    pub limits: ServerLimits,
    /// Address on which it listens for clients.
    pub listen: IpAddr,
    /// API keys, as in `--api-key`; without any, clients need none.
    pub keys: Vec<String>,
    /// Host names allowed beside loopback names.
    pub hosts: Vec<HostName>,
    /// Origins whose pages may read answers.
    pub cors_origins: Vec<CorsOrigin>,
    /// Whether clients that ask for a WebSocket are sent to HTTP.
    pub no_web_socket: bool,
    /// TLS on the address for clients.
    pub tls: Option<Tls>,
    /// Whether `/` is JSON for browsers, too.
    pub no_page: bool,
    /// MCP tool servers.
    pub mcp: McpServers,
    /// Whether parsers are reloaded when their files change.
    pub watch: bool,
    /// Where responses are kept; none, as in `--store none`. Servers of copies of one setup share
    /// it.
    pub store: Option<Arc<dyn Store>>,
    /// Key of what clients keep for the server.
    pub seal: Seal,
}

impl Default for Setup {
    /// The embedded model and parser on the CPU, as in `host serve --store memory`.
    fn default() -> Self {
        let model = ModelOptions {
            kv_cache_bytes: KvCacheBytes { cpu: 64 << 20, cpu_most: 0, gpu: None },
            ..ModelOptions::new("no-such-folder", EngineChoice::Local)
        };
        let shared = SharedOptions {
            // One cache for all tests: `auto` looks at every shipped parser, and each is compiled
            // once.
            parser_cache: Some(std::env::temp_dir().join("sluice-tests/parsers")),
            threads: Some(2),
            draft_contracts: false,
            kernel_cache: None,
            deterministic: false,
            principals: 0,
        };
        let mcp = McpServers::default();
        let others = Vec::new();
        let (keys, hosts, cors_origins, no_web_socket, no_page) = Default::default();
        Self {
            model,
            others,
            shared,
            limits: ServerLimits::default(),
            listen: Ipv4Addr::LOCALHOST.into(),
            keys,
            hosts,
            cors_origins,
            no_web_socket,
            tls: None,
            no_page,
            mcp,
            watch: false,
            store: Some(memory()),
            seal: Seal::random(),
        }
    }
}

impl Setup {
    /// Configuration with the embedded model's tokenizer and template and with scripted outputs;
    /// `rules` are those of docs/replay.md.
    ///
    /// # Panics
    /// If the file can't be written.
    pub fn replay(folder: &Path, rules: &Value) -> Self {
        let file = folder.join("replay.json");
        std::fs::write(&file, json!({ "rules": rules }).to_string())
            .expect("a temporary folder can be written");
        let mut setup = Self::default();
        setup.model.engine = EngineChoice::Replay(file);
        setup
    }

    /// Sets the first model's parser.
    #[must_use]
    pub fn with_parser(mut self, parser: impl Into<String>) -> Self {
        self.model.parser = Some(parser.into());
        self
    }
}

/// A store in memory.
///
/// # Panics
/// If it doesn't open.
pub fn memory() -> Arc<dyn Store> {
    Arc::new(Sqlite::memory(&Options::default()).expect("memory can be had"))
}

/// Running server. `stop` ends it as SIGTERM would.
pub struct TestServer {
    /// Address on which it listens for clients.
    pub address: SocketAddr,
    /// Address on which it listens for operators.
    pub admin: SocketAddr,
    /// First model that it serves.
    pub model: Model,
    /// The keys that its clients may use.
    pub keys: Keys,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl TestServer {
    /// Starts a server on free ports.
    ///
    /// # Panics
    /// If the model or the parser doesn't load.
    pub async fn start(setup: Setup) -> Self {
        install_metrics(None);
        let Setup {
            model,
            others,
            shared,
            limits,
            listen,
            keys,
            hosts,
            cors_origins,
            no_web_socket,
            tls,
            no_page,
            mcp,
            watch,
            store,
            seal,
        } = setup;
        let keys = keys.iter().map(|key| key.parse().expect("a key")).collect();
        let keys = Keys::new(keys).expect("keys of one owner each");
        let shared = SharedOptions { principals: keys.owners(), ..shared };
        let models =
            Models::load(&model, &others, &shared, &limits.model, &mut |_, _| {}).expect("the models load");
        let defaults = Defaults { limits: limits.request.clone(), mcp, seal, ..Defaults::default() };
        let access = Access {
            keys: keys.clone(),
            named: Named::new(hosts, cors_origins),
            no_web_socket,
            no_page,
            ..Access::default()
        };
        let app = App::new(models.clone(), limits, access, &defaults, true, store);
        let server = Server::bind((listen, 0).into(), app).await.expect("a free port");
        let mut server = server.with_tls(tls);
        let admin = server.bind_admin(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = server.address().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let followed = models.clone();
        let running = async move {
            let stopped = async {
                let _ = stopped.await;
            };
            tokio::select! {
                () = server.run(stopped) => {}
                () = followed.follow_plugin_files(), if watch => {}
            }
        };
        #[expect(clippy::disallowed_methods, reason = "owned by the TestServer, which awaits it")]
        let task = tokio::spawn(running);
        Self { address, admin, model: models.first().clone(), keys, stop: Some(stop), task }
    }

    /// Tells the server to stop, and returns while it drains.
    pub fn begin_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Stops the server and waits until it has drained.
    ///
    /// # Panics
    /// If the server's task panicked.
    pub async fn stop(mut self) {
        self.begin_stop();
        self.task.await.expect("the server ends well");
    }
}
