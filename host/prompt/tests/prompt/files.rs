//! Model directories: what is read from which file, and the errors for missing and broken files.

use std::fs;
use std::sync::Arc;

use crate::common::{conversation, model_files, tokenizer};
use engine::ModelFiles;
use prompt::PromptLimits;
use prompt::{ChatFiles, ChatFormat, GenerationDefaults, Role, Tokenizer, TurnOpening};
use tempfile::TempDir;

fn directory(files: &[(&str, &str)]) -> (TempDir, ModelFiles) {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let files = ModelFiles::Directory(dir.path().to_owned());
    (dir, files)
}

fn chat(files: &[(&str, &str)]) -> ChatFiles {
    ChatFiles::load(&directory(files).1, None).unwrap()
}

#[test]
fn template_goes_by_operator_then_file_then_config() {
    let config = ("tokenizer_config.json", r#"{"chat_template": "configured"}"#);
    assert_eq!(chat(&[config]).template, "configured");
    assert_eq!(chat(&[config, ("chat_template.jinja", "file")]).template, "file");
    let (_dir, files) = directory(&[config, ("chat_template.jinja", "file")]);
    assert_eq!(ChatFiles::load(&files, Some("mine".to_owned())).unwrap().template, "mine");
}

#[test]
fn named_templates_serve_talks_with_and_without_tools() {
    let [tool_use, default] = ["T{{ messages[0].content }}", "D{{ messages[0].content }}"];
    let list = serde_json::json!({"chat_template": [{"name": "tool_use", "template": tool_use}, {"name": "default", "template": default}]}).to_string();
    let chat = chat(&[("tokenizer_config.json", &list)]);
    assert_eq!((chat.template.as_str(), chat.tool_template.as_deref()), (default, Some(tool_use)));
    let format = ChatFormat::new(&chat, tokenizer(), &PromptLimits::default(), 100).unwrap();
    let mut talk = conversation(vec![prompt::ChatMessage::text(Role::User, "a")]);
    let ids = |talk: &_| format.render(talk, &[], TurnOpening::NewTurn).unwrap().ids;
    assert_eq!(ids(&talk), tokenizer().encode_text("Da").unwrap());
    let declaration = serde_json::json!({});
    talk.tools.push(prompt::ToolDeclaration { name: "a".to_owned(), declaration: declaration.to_string() });
    assert_eq!(ids(&talk), tokenizer().encode_text("Ta").unwrap());
}

/// The templates that are read from these files.
fn templates(files: &[(&str, &str)]) -> (String, Option<String>) {
    let ChatFiles { template, tool_template, .. } = chat(files);
    (template, tool_template)
}

#[test]
fn a_template_for_tools_may_be_a_file_of_its_own() {
    const LIST: (&str, &str) = (
        "tokenizer_config.json",
        r#"{"chat_template": [{"name": "default", "template": "LD"}, {"name": "tool_use", "template": "LT"}]}"#,
    );
    const FILE: (&str, &str) = ("chat_template.jinja", "D");
    const TOOLS: (&str, &str) = ("additional_chat_templates/tool_use.jinja", "T");
    const RAG: (&str, &str) = ("additional_chat_templates/rag.jinja", "R");
    for (files, template, tool_template) in [
        (&[FILE, TOOLS, RAG][..], "D", Some("T")),
        (&[FILE, RAG], "D", None),
        // Files replace the whole list.
        (&[LIST, FILE], "D", None),
        (&[LIST, FILE, TOOLS], "D", Some("T")),
        (&[LIST, TOOLS], "LD", Some("T")),
        (&[LIST, RAG], "LD", Some("LT")),
    ] {
        assert_eq!(templates(files), (template.to_owned(), tool_template.map(str::to_owned)), "{files:?}");
    }
    let object = r#"{"chat_template": {"default": "D", "tool_use": "T"}}"#;
    assert_eq!(templates(&[("tokenizer_config.json", object)]), ("D".to_owned(), Some("T".to_owned())));
    let (_dir, files) = directory(&[FILE, TOOLS]);
    let chat = ChatFiles::load(&files, Some("mine".to_owned())).unwrap();
    assert_eq!((chat.template.as_str(), chat.tool_template), ("mine", None), "the operator's is for all");
}

#[test]
fn processor_template_serves_tokenizers_without_one() {
    let older = ("chat_template.json", r#"{"chat_template": "older"}"#);
    let processor = ("processor_config.json", r#"{"image_seq_len": 64, "chat_template": "processor"}"#);
    let unset = ("tokenizer_config.json", r#"{"chat_template": null}"#);
    let set = ("tokenizer_config.json", r#"{"chat_template": "tokenizer"}"#);
    for (files, expected) in [
        (&[older, processor, unset][..], "older"),
        (&[processor], "processor"),
        (&[older, processor, set], "tokenizer"),
    ] {
        assert_eq!(templates(files).0, expected, "{files:?}");
    }
}

#[test]
fn special_tokens_are_those_of_transformers() {
    let config = r#"{"chat_template": "", "bos_token": "<s>", "sep_token": {"content": "<sep>"}, "cls_token": "<cls>", "mask_token": "<m>",
        "image_token": "<image>", "boi_token": "<boi>", "add_bos_token": true, "model_max_length": 5, "tokenizer_class": "X",
        "additional_special_tokens": ["<a>"], "extra_special_tokens": {"audio_token": "<audio>", "boi_token": "<begin>", "nl": "\n"}}"#;
    let map = r#"{"bos_token": {"content": "<S>", "lstrip": false}, "eos_token": "</S>", "boi_token": "no", "video_token": "<video>",
        "additional_special_tokens": ["<b>"]}"#;
    let read = |config: &str| {
        let files = [("tokenizer_config.json", config), ("special_tokens_map.json", map)];
        chat(&files)
            .special_tokens
            .iter()
            .map(|(name, literal)| format!("{name}={literal}"))
            .collect::<Vec<_>>()
    };
    let expected = [
        "audio_token=<audio>",
        "boi_token=<begin>",
        "bos_token=<S>",
        "cls_token=<cls>",
        "eos_token=</S>",
        "image_token=<image>",
        "mask_token=<m>",
        "nl=\n",
        "sep_token=<sep>",
        "video_token=<video>",
    ];
    assert_eq!(read(config), expected);
    // The older file doesn't count beside a list of all added tokens.
    let newer = config.replacen('{', r#"{"added_tokens_decoder": {}, "#, 1);
    let expected: Vec<_> = expected
        .iter()
        .filter(|token| !token.starts_with("eos") && !token.starts_with("video"))
        .map(|token| token.replace("<S>", "<s>"))
        .collect();
    assert_eq!(read(&newer), expected);
    let list = r#"{"chat_template": "", "added_tokens_decoder": {}, "extra_special_tokens": ["<a>"]}"#;
    assert_eq!(read(list), Vec::<String>::new());
}

#[test]
fn special_tokens_are_strings_or_objects() {
    let config =
        r#"{"chat_template": "", "bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null}"#;
    let named = |name: &str, literal: &str| (name.to_owned(), literal.to_owned());
    let expected = [named("bos_token", "<s>"), named("eos_token", "</s>")];
    assert_eq!(chat(&[("tokenizer_config.json", config)]).special_tokens, expected);
}

fn defaults(files: &[(&str, &str)]) -> Result<GenerationDefaults, String> {
    let (_dir, files) = directory(files);
    GenerationDefaults::load(&files, &tokenizer(), Some("<|im_end|>")).map_err(|error| error.to_string())
}

#[test]
fn generation_defaults_are_read_and_checked() {
    let file = |text| [("generation_config.json", text)];
    let end = tokenizer().token_id("<|im_end|>").unwrap();
    let all = defaults(&file(r#"{"eos_token_id": [5, 5], "temperature": 0.6, "top_p": 0.95, "top_k": 20}"#))
        .unwrap();
    assert_eq!(all.eos_token_ids, [5, end]);
    assert_eq!((all.temperature, all.top_p, all.top_k), (Some(0.6), Some(0.95), Some(20)));
    let more = defaults(&file(r#"{"min_p": 0.1, "repetition_penalty": 1.05}"#)).unwrap();
    assert_eq!((more.min_p, more.repetition_penalty), (Some(0.1), Some(1.05)));
    let greedy = defaults(&file(r#"{"eos_token_id": 6, "do_sample": false, "temperature": 0.6}"#)).unwrap();
    assert_eq!((greedy.eos_token_ids.as_slice(), greedy.temperature), ([6, end].as_slice(), Some(0.0)));
    assert_eq!(defaults(&[("config.json", r#"{"eos_token_id": 7}"#)]).unwrap().eos_token_ids, [7, end]);
    assert_eq!(defaults(&[]).unwrap().eos_token_ids, [end]);
    for (text, said) in [
        (r#"{"temperature": -1}"#, "temperature can't be -1"),
        (r#"{"top_p": 0}"#, "top_p can't be 0"),
        (r#"{"min_p": 2}"#, "min_p can't be 2"),
        (r#"{"repetition_penalty": 0}"#, "repetition_penalty can't be 0"),
        (r#"{"top_k": "all"}"#, "top_k can't be \"all\""),
        (r#"{"eos_token_id": [-5]}"#, "eos_token_id can't be -5"),
    ] {
        let error = defaults(&file(text)).unwrap_err();
        assert!(error.contains("generation_config.json") && error.contains(said), "{error}");
    }
}

#[test]
fn the_embedded_model_is_whole() {
    let chat = ChatFiles::load(&model_files(), None).unwrap();
    let eos =
        chat.special_tokens.iter().find(|(name, _)| name == "eos_token").map(|(_, literal)| literal.as_str());
    let defaults = GenerationDefaults::load(&model_files(), &tokenizer(), eos).unwrap();
    let ids = ["<|im_end|>", "<|endoftext|>"].map(|literal| tokenizer().token_id(literal).unwrap());
    assert_eq!(defaults.eos_token_ids, ids);
}

/// Checks that an error is one line that names the file, contains `said`, and says what to do.
fn assert_clear(error: &str, file: &str, said: &str) {
    assert!(error.contains(file) && error.contains(said), "{error}");
    assert!(!error.contains('\n') && error.contains("; "), "{error}");
}

#[test]
fn broken_files_are_named_in_one_line() {
    let chat = |files: &[(&str, &str)]| ChatFiles::load(&directory(files).1, None).unwrap_err().to_string();
    assert_clear(&chat(&[]), "chat_template.jinja", "not there");
    assert_clear(&chat(&[("tokenizer_config.json", "{")]), "tokenizer_config.json", "not valid JSON");
    assert_clear(&chat(&[("tokenizer_config.json", "[]")]), "tokenizer_config.json", "not a JSON object");
    let list = r#"{"chat_template": [{"name": "rag", "template": ""}]}"#;
    assert_clear(&chat(&[("tokenizer_config.json", list)]), "tokenizer_config.json", "\"default\"");
    let (dir, files) = directory(&[]);
    fs::write(dir.path().join("chat_template.jinja"), b"a\xFF").unwrap();
    assert_clear(
        &ChatFiles::load(&files, None).unwrap_err().to_string(),
        "chat_template.jinja",
        "not UTF-8 from byte 1",
    );
}

#[test]
fn broken_tokenizers_are_refused_in_one_line() {
    let load = |files: &[(&str, &str)]| Tokenizer::load(&directory(files).1).unwrap_err().to_string();
    assert_clear(&load(&[]), "tokenizer.json", "not there");
    assert_clear(&load(&[("tokenizer.json", "{}")]), "tokenizer.json", "fetch the file again");
    assert_clear(&load(&[("tokenizer.json", "\n{\n")]), "tokenizer.json", "fetch the file again");
}

#[test]
fn template_syntax_error_is_refused_with_its_line() {
    let (_dir, files) = directory(&[("chat_template.jinja", "a\n{% if %}")]);
    let chat = ChatFiles::load(&files, None).unwrap();
    let error = ChatFormat::load(&files, &chat, tokenizer(), &PromptLimits::default(), 100).unwrap_err();
    assert_clear(&error.to_string(), "chat template", "line 2");
}

#[test]
fn truncated_and_altered_tokenizer_files_never_panic() {
    let json = fs::read(crate::common::path("../models/qwen3-tiny/tokenizer.json")).unwrap();
    for at in (0..json.len()).step_by(json.len() / 150) {
        assert!(Tokenizer::from_json(&json[..at]).is_err());
        let mut altered = json.clone();
        altered[at] = b"x\"{}[],:0"[at % 9];
        if let Ok(tokenizer) = Tokenizer::from_json(&altered) {
            let _ = tokenizer.encode_text("a <|im_end|> b");
            let mut detokenizer = prompt::Detokenizer::new(Arc::new(tokenizer), &[]);
            let mut out = String::new();
            (0..600).for_each(|id| detokenizer.push(id, &mut out));
        }
    }
}
