//! `POST /v1/embeddings`: one vector per input, which says whose it is.
//!
//! The first component is the provider's answer number, so that a test can tell two attempts apart. The Python
//! SDK asks for base64 of little-endian f32 unless told otherwise; Node and plain HTTP ask for numbers.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::Answer;

/// How the vectors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    /// JSON numbers.
    Float,
    /// base64 of little-endian f32.
    Base64,
}

/// The answer for `inputs` texts with `dimensions` components each.
pub(crate) fn embeddings(a: &Answer, inputs: usize, dimensions: usize, encoding: Encoding) -> String {
    let data: Vec<String> = (0..inputs)
        .map(|index| {
            let vector = vector(a, index, dimensions);
            format!(r#"{{"object":"embedding","index":{index},"embedding":{}}}"#, write(&vector, encoding))
        })
        .collect();
    format!(
        r#"{{"object":"list","data":[{}],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}}"#,
        data.join(","),
        a.model,
        a.input,
        a.input
    )
}

fn vector(a: &Answer, index: usize, dimensions: usize) -> Vec<f32> {
    (0..dimensions)
        .map(|place| if place == 0 { a.nonce as f32 } else { (index + place) as f32 / 64.0 })
        .collect()
}

fn write(vector: &[f32], encoding: Encoding) -> String {
    match encoding {
        Encoding::Float => serde_json::to_string(vector).expect("small floats are finite"),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            format!("\"{}\"", STANDARD.encode(bytes))
        }
    }
}
