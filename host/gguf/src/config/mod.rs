//! `config.json` of a GGUF file: its keys under the names that the original checkpoint's
//! configuration has. One row for each architecture, and a file for what is its own.

mod deepseek;
mod delta;
mod dense;
mod experts;
mod gemma4;
mod lfm2;
mod rope;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::error::{GgufError, printable};
use super::header::TensorInfo;
use super::keys::MOST_LAYERS;
use super::model::Gguf;
use super::tokenizer::TOKENS;

/// Key of the number of key and value heads.
const KV_HEADS: &str = "attention.head_count_kv";
/// Widest matrix of a model.
const WIDEST: u64 = 1 << 24;

/// How queries and keys of an architecture's rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RopeRows {
    /// As in the original checkpoint.
    AsInCheckpoint,
    /// The two rows that are rotated together are neighbours; in the original checkpoint they are
    /// half a head apart.
    Neighbours,
}

/// An architecture of GGUF files.
pub(crate) struct Architecture {
    /// Its name in `general.architecture`, which its keys begin with.
    name: &'static str,
    /// Class of the original checkpoint, and its model type. Parsers claim types, so an architecture
    /// of several families has one of its own.
    class: (&'static str, &'static str),
    pub(crate) rows: RopeRows,
    /// Whether sizes and rotary embeddings differ between layers: then `own` reads them.
    by_layers: bool,
    /// Adds what only some architectures have.
    own: fn(&Fields<'_, '_>, &mut Map<String, Value>) -> Result<(), GgufError>,
}

#[rustfmt::skip]
const ARCHITECTURES: [Architecture; 18] = {
    use RopeRows::{AsInCheckpoint, Neighbours};
    [
        Architecture { name: "llama", class: ("LlamaForCausalLM", "llama"), rows: Neighbours, by_layers: false, own: experts::llama },
        Architecture { name: "mistral3", class: ("MistralForCausalLM", "mistral"), rows: Neighbours, by_layers: false, own: dense::mistral3 },
        Architecture { name: "smollm3", class: ("SmolLM3ForCausalLM", "smollm3"), rows: Neighbours, by_layers: false, own: experts::none },
        Architecture { name: "granite", class: ("GraniteForCausalLM", "granite"), rows: Neighbours, by_layers: false, own: dense::granite },
        Architecture { name: "gemma3", class: ("Gemma3ForCausalLM", "gemma3_text"), rows: AsInCheckpoint, by_layers: false, own: dense::gemma3 },
        Architecture { name: "gemma4", class: ("Gemma4ForCausalLM", "gemma4_text"), rows: AsInCheckpoint, by_layers: true, own: gemma4::own },
        Architecture { name: "phi3", class: ("Phi3ForCausalLM", "phi3"), rows: AsInCheckpoint, by_layers: false, own: dense::phi3 },
        Architecture { name: "qwen2", class: ("Qwen2ForCausalLM", "qwen2"), rows: AsInCheckpoint, by_layers: false, own: experts::none },
        Architecture { name: "qwen3", class: ("Qwen3ForCausalLM", "qwen3"), rows: AsInCheckpoint, by_layers: false, own: experts::none },
        Architecture { name: "qwen3moe", class: ("Qwen3MoeForCausalLM", "qwen3_moe"), rows: AsInCheckpoint, by_layers: false, own: experts::qwen3 },
        Architecture { name: "qwen35", class: ("Qwen3_5ForCausalLM", "qwen3_5_text"), rows: AsInCheckpoint, by_layers: false, own: delta::qwen3_5 },
        Architecture { name: "qwen35moe", class: ("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text"), rows: AsInCheckpoint, by_layers: false, own: delta::qwen3_5_moe },
        Architecture { name: "qwen3next", class: ("Qwen3NextForCausalLM", "qwen3_next"), rows: AsInCheckpoint, by_layers: false, own: delta::qwen3_next },
        Architecture { name: "lfm2", class: ("Lfm2ForCausalLM", "lfm2"), rows: AsInCheckpoint, by_layers: false, own: lfm2::dense },
        Architecture { name: "lfm2moe", class: ("Lfm2MoeForCausalLM", "lfm2_moe"), rows: AsInCheckpoint, by_layers: false, own: lfm2::experts },
        Architecture { name: "gpt-oss", class: ("GptOssForCausalLM", "gpt_oss"), rows: AsInCheckpoint, by_layers: false, own: experts::gpt_oss },
        Architecture { name: "glm4moe", class: ("Glm4MoeForCausalLM", "glm4_moe"), rows: AsInCheckpoint, by_layers: false, own: deepseek::glm4 },
        Architecture { name: "deepseek2", class: ("DeepseekV3ForCausalLM", "deepseek2"), rows: AsInCheckpoint, by_layers: false, own: deepseek::own },
    ]
};

impl Architecture {
    /// The architecture of a file.
    pub(crate) fn of(gguf: &Gguf<'_>) -> Result<&'static Self, GgufError> {
        static TABLE: &[Architecture] = &ARCHITECTURES;
        let name = gguf.keys.needed_text("general.architecture")?;
        TABLE.iter().find(|architecture| architecture.name == name).ok_or_else(|| {
            let known: Vec<_> = TABLE.iter().map(|architecture| architecture.name).collect();
            let found = printable(name);
            gguf.keys.error(format!("architecture {found} is not supported; supported: {}", known.join(", ")))
        })
    }
}

/// Keys of an architecture, without its name before them.
pub(super) struct Fields<'g, 'a> {
    gguf: &'g Gguf<'a>,
    prefix: &'static str,
}

impl Fields<'_, '_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// A whole number that is the same for all layers.
    fn size(&self, name: &str) -> Result<Option<u64>, GgufError> {
        self.gguf.keys.same(&self.key(name), 0..=1 << 32)
    }

    /// A whole number for each of `layers` layers, which the file has once or layer by layer.
    fn sizes(&self, name: &str, layers: usize) -> Result<Vec<u64>, GgufError> {
        let key = self.key(name);
        let found = self.gguf.keys.each(&key, 0..=1 << 32, layers)?;
        found.ok_or_else(|| self.gguf.keys.absent(&key))
    }

    /// A whole number that must be there.
    fn needed_size(&self, name: &str) -> Result<u64, GgufError> {
        self.size(name)?.ok_or_else(|| self.gguf.keys.absent(&self.key(name)))
    }

    fn number(&self, name: &str) -> Result<Option<f64>, GgufError> {
        self.gguf.keys.number(&self.key(name))
    }

    /// Number of layers, without those that predict tokens further ahead.
    pub(super) fn layers(&self) -> Result<u64, GgufError> {
        let keys = &self.gguf.keys;
        let all = keys.size(&self.key("block_count"), 1..=MOST_LAYERS)?;
        let all = all.ok_or_else(|| keys.absent(&self.key("block_count")))?;
        let ahead = keys.size(&self.key("nextn_predict_layers"), 0..=all)?.unwrap_or(0);
        self.check_layers(all - ahead)
    }

    /// Checks that the file has tensors of all `layers` layers, since a configuration takes memory
    /// for each that it names.
    fn check_layers(&self, layers: u64) -> Result<u64, GgufError> {
        let number = |(_, tensor): &(usize, TensorInfo<'_>)| {
            tensor.name.strip_prefix("blk.")?.split_once('.')?.0.parse::<u64>().ok()
        };
        let present: HashSet<u64> = self.gguf.tensors().filter_map(number).collect();
        match (0..layers).find(|layer| !present.contains(layer)) {
            None => Ok(layers),
            Some(lacking) => {
                let key = self.key("block_count");
                let reason =
                    format!("{key} calls for {layers} layers, and the file has no tensor of layer {lacking}");
                Err(self.gguf.keys.error(reason))
            }
        }
    }

    /// Width of a head.
    fn head_dim(&self) -> Result<u64, GgufError> {
        let keys = (self.size("attention.key_length")?, self.size("attention.value_length")?);
        match keys {
            (Some(keys), Some(values)) if keys != values => {
                let reason = format!("keys of {keys} and values of {values} dimensions are not supported");
                Err(self.gguf.keys.error(reason))
            }
            (Some(keys), _) => Ok(keys),
            (None, _) => {
                let (hidden, heads) = (self.needed_size("embedding_length")?, self.heads()?);
                Ok(hidden / heads.max(1))
            }
        }
    }

    pub(super) fn heads(&self) -> Result<u64, GgufError> {
        self.needed_size("attention.head_count")
    }

    /// Key heads of layers with the gated delta rule.
    pub(super) fn key_heads(&self) -> Result<u64, GgufError> {
        self.needed_size("ssm.group_count")
    }

    pub(super) fn kv_heads(&self) -> Result<u64, GgufError> {
        let of_layers = self.gguf.keys.sizes(&self.key(KV_HEADS), 0..=1 << 32)?;
        // A layer with no such heads has no attention.
        let mut present = of_layers.iter().flatten().filter(|heads| **heads > 0);
        let Some(first) = present.next() else { return self.heads() };
        match present.find(|heads| *heads != first) {
            None => Ok(*first),
            Some(_) => Err(self.gguf.keys.differs(&self.key(KV_HEADS))),
        }
    }
}

/// Keys of the file's architecture.
pub(super) fn fields<'g, 'a>(gguf: &'g Gguf<'a>) -> Result<Fields<'g, 'a>, GgufError> {
    Ok(Fields { gguf, prefix: Architecture::of(gguf)?.name })
}

/// The text of `config.json`.
pub(crate) fn config_json(gguf: &Gguf<'_>) -> Result<Vec<u8>, GgufError> {
    let architecture = Architecture::of(gguf)?;
    let fields = fields(gguf)?;
    let (class, model_type) = architecture.class;
    let mut config = Map::new();
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("architectures", json!([class]));
    set("model_type", json!(model_type));
    set("vocab_size", json!(vocabulary(gguf)?));
    set("hidden_size", json!(fields.needed_size("embedding_length")?));
    set("num_hidden_layers", json!(fields.layers()?));
    set("num_attention_heads", json!(fields.heads()?));
    set("max_position_embeddings", json!(fields.needed_size("context_length")?));
    set("rms_norm_eps", json!(fields.number("attention.layer_norm_rms_epsilon")?));
    set("tie_word_embeddings", json!(!gguf.has_tensor("output.weight")));
    set("attention_bias", json!(gguf.has_tensor("blk.0.attn_q.bias")));
    set("use_qk_norm", json!(gguf.has_tensor("blk.0.attn_q_norm.weight")));
    set("eos_token_id", json!(gguf.keys.size("tokenizer.ggml.eos_token_id", 0..=WIDEST)?));
    if !architecture.by_layers {
        same_sizes(&fields, &mut config)?;
    }
    (architecture.own)(&fields, &mut config)?;
    Ok(Value::Object(config).to_string().into_bytes())
}

/// Adds sizes and rotary embeddings that are the same for all layers.
fn same_sizes(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    config.insert("num_key_value_heads".to_owned(), json!(fields.kv_heads()?));
    config.insert("head_dim".to_owned(), json!(fields.head_dim()?));
    config.insert("intermediate_size".to_owned(), json!(fields.size("feed_forward_length")?));
    rope::add(fields, config)
}

/// Rows of the embedding, of which each token has one.
fn vocabulary(gguf: &Gguf<'_>) -> Result<usize, GgufError> {
    const NAME: &str = "token_embd.weight";
    let embedding = gguf.tensor(NAME).map(|(_, tensor)| tensor);
    let Some([rows, _]) = embedding.map(|tensor| tensor.shape.as_slice()) else {
        return Err(gguf.keys.error(format!("no matrix {NAME}; a model needs it")));
    };
    let tokens = gguf.keys.array(TOKENS)?.map_or(0, |tokens| tokens.len());
    if tokens > *rows {
        let reason = format!("{TOKENS} has {tokens} tokens, more than the {rows} rows of {NAME}");
        return Err(gguf.keys.error(reason));
    }
    Ok(*rows)
}
