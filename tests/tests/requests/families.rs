//! A model of each family that the engine supports, from its directory or its GGUF file to the
//! tokens of an answer.

use std::path::{Path, PathBuf};

use engine::cpu::Numerics;
use model::{EngineChoice, ModelOptions};
use serde_json::{Value, json};
use tests::client::{get, post};
use tests::server::{Setup, TestServer};

#[path = "../../../host/gguf/tests/tools/mod.rs"]
mod tools;
use tools::{convert::convert, tokens};

/// The engine's tiny random models, and the parser of each (`None`: `auto`). All have the embedded
/// model's template, which contradicts the types of some.
const MODELS: [(&str, Option<&str>); 8] = [
    ("llama3-bf16", Some("none")),
    ("mistral-window-bf16", Some("mistral")),
    ("tied-bf16", None),
    ("fp8", None),
    ("moe-sharded-bf16", None),
    ("gpt-oss-mxfp4", Some("harmony")),
    ("deepseek-bf16", Some("deepseek-v3")),
    (KIMI, Some("kimi-k2")),
];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/engine/tests/goldens").join(name)
}

/// Model that is served in the form in which Kimi K2 is published.
const KIMI: &str = "deepseek-fp8";

/// Makes a model directory: a tiny model with the embedded model's template and the tokens of its
/// tokenizer that the model has rows for; Kimi's has a tiktoken tokenizer.
fn directory(folder: &Path, name: &str) -> PathBuf {
    let model = folder.join(name);
    std::fs::create_dir(&model).expect("made");
    let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny");
    let files =
        std::fs::read_dir(golden(name)).expect("a golden").map(|entry| entry.expect("an entry").path());
    let shared =
        ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"].map(|file| tokenizer.join(file));
    for file in files.chain(shared) {
        std::fs::copy(&file, model.join(file.file_name().expect("a name"))).expect("copied");
    }
    cut_tokenizer(&model.join("tokenizer.json"), rows(name));
    if name == KIMI {
        let ranks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/prompt/tests/prompt/tiktoken");
        cut_ranks(&ranks, &model, rows(name));
        std::fs::remove_file(model.join("tokenizer.json")).expect("removed");
        let text = std::fs::read_to_string(model.join("config.json")).expect("a configuration");
        let text = text.replace(r#""model_type": "deepseek_v3""#, r#""model_type": "kimi_k2""#);
        std::fs::write(model.join("config.json"), text).expect("written");
    }
    model
}

/// Rows of a tiny model's embedding.
fn rows(name: &str) -> u64 {
    let config = std::fs::read(golden(name).join("config.json")).expect("a configuration");
    let config: Value = serde_json::from_slice(&config).expect("JSON");
    config["vocab_size"].as_u64().expect("a number")
}

/// Leaves the first `rows` tokens to a tokenizer without merges.
fn cut_tokenizer(file: &Path, rows: u64) {
    let text = std::fs::read(file).expect("a tokenizer");
    let mut tokenizer: Value = serde_json::from_slice(&text).expect("JSON");
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().expect("a vocabulary");
    vocabulary.retain(|_, id| id.as_u64().is_some_and(|id| id < rows));
    std::fs::write(file, tokenizer.to_string()).expect("written");
}

/// Writes the first `rows` tokens of a tiktoken tokenizer, and the added ones behind them.
fn cut_ranks(from: &Path, to: &Path, rows: u64) {
    let [ranks, config] = ["tiktoken.model", "tokenizer_config.json"];
    let tokens = std::fs::read_to_string(from.join(ranks)).expect("ranks");
    let count = tokens.lines().count() as u64;
    let first: String = (0..rows).zip(tokens.split_inclusive('\n')).map(|(_, line)| line).collect();
    std::fs::write(to.join(ranks), first).expect("written");
    let text = std::fs::read(from.join(config)).expect("a configuration");
    let mut written: Value = serde_json::from_slice(&text).expect("JSON");
    let added = written["added_tokens_decoder"].as_object_mut().expect("added tokens");
    let moved = |(id, token): (String, Value)| {
        ((id.parse::<u64>().expect("an id") - count + rows).to_string(), token)
    };
    *added = std::mem::take(added).into_iter().map(moved).collect();
    std::fs::write(to.join(config), written.to_string()).expect("written");
}

/// Makes a GGUF file of a tiny model, with the embedded model's tokenizer and template.
fn gguf(folder: &Path, name: &str) -> PathBuf {
    let mut writer = convert(&golden(name));
    let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny");
    tokens::write_first(&mut writer, &tokenizer, rows(name));
    let path = folder.join(format!("{name}.gguf"));
    std::fs::write(&path, writer.finish()).expect("written");
    path
}

fn options(model: &Path, parser: Option<&str>) -> ModelOptions {
    ModelOptions {
        model: Some(model.to_string_lossy().into_owned()),
        parser: parser.map(str::to_owned),
        engine: EngineChoice::Local,
        // With random weights, logits are so close that rounding would often change the next token.
        numerics: Numerics::EXACT,
        ..Setup::default().model
    }
}

/// Serves models, and checks the tokens of each against those of transformers.
async fn check_tokens(mut all: Vec<ModelOptions>, names: &[&str]) -> TestServer {
    let model = all.remove(0);
    let server = TestServer::start(Setup { model, others: all, ..Setup::default() }).await;
    for name in names {
        let text = std::fs::read(golden(name).join("golden.json")).expect("a golden");
        let golden: Value = serde_json::from_slice(&text).expect("JSON");
        for prompt in golden["prompts"].as_array().expect("prompts") {
            let body = json!({
                "model": name, "prompt": prompt["ids"], "temperature": 0, "max_tokens": 24, "return_token_ids": true,
            });
            let answer = post(server.address, "/v1/completions", &body).await.json();
            assert_eq!(answer["choices"][0]["token_ids"], prompt["greedy"], "{name}: {answer}");
        }
    }
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn families_are_served_with_transformers_tokens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let of = |(name, parser): &(&str, Option<&str>)| options(&directory(folder.path(), name), *parser);
    check_tokens(MODELS.iter().map(of).collect(), &MODELS.map(|(name, _)| name)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gguf_files_are_served_with_transformers_tokens() {
    const NAMES: [&str; 6] =
        ["llama3-bf16", "gemma3-bf16", "qwen2-bf16", "moe-bf16", "gpt-oss-mxfp4", "deepseek-bf16"];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let of = |name| options(&gguf(folder.path(), name), Some("none"));
    let server = check_tokens(NAMES.into_iter().map(of).collect(), &NAMES).await;
    let one = get(server.address, "/v1/models/llama3-bf16").await.json();
    assert_eq!(one["max_model_len"], 512, "{one}");
}
