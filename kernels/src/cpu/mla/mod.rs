//! Attention over a compressed cache (MLA of DeepSeek-V2, arXiv:2405.04434, section 2.1): a token
//! has one latent row and one rotated key in the cache, for all heads. The projection that would
//! make keys and values of the latent row is applied to queries and results instead (the absorbed
//! form), so that a cached row is read once for all heads.

mod attention;
mod write;

pub use attention::{MlaScratch, MlaWeights, mla_attention};
pub use write::mla_write;
