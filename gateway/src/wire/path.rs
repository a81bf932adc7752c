//! Request paths: which operation of which dialect a client asks for.
//!
//! Inputs: the path of a request target, without the query. Outputs: a [`Target`] or nothing, which is a 404 that
//! names the path. Served are the official paths, the same without `/v1`, and the forms of Azure's SDKs
//! (`/openai/deployments/{d}/...`, `/openai/v1/...`). Nothing is guessed: an unknown tail is not served.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, Method};

use super::dialect::{Dialect, Operation};

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target<'a> {
    /// A model call.
    Generate {
        /// Which one.
        operation: Operation,
        /// The Azure deployment in the path, which then is the model.
        deployment: Option<Cow<'a, str>>,
    },
    /// The list of models.
    Models,
    /// One model by id; ids may hold slashes.
    Model(Cow<'a, str>),
    /// A response stored at a provider.
    Stored {
        /// Its id.
        id: &'a str,
        /// What to do with it.
        action: Stored,
    },
}

/// What can be done with a stored response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// `GET` or `DELETE /v1/responses/{id}`
    Whole,
    /// `POST /v1/responses/{id}/cancel`
    Cancel,
    /// `GET /v1/responses/{id}/input_items`
    InputItems,
}

impl Stored {
    /// The path below the version prefix of a provider.
    pub fn path(self, id: &str) -> String {
        match self {
            Self::Whole => format!("responses/{id}"),
            Self::Cancel => format!("responses/{id}/cancel"),
            Self::InputItems => format!("responses/{id}/input_items"),
        }
    }
}

impl Target<'_> {
    /// Methods that belong to the path; any other is answered 405.
    pub fn methods(&self) -> &'static [Method] {
        match self {
            Self::Generate { .. } | Self::Stored { action: Stored::Cancel, .. } => &[Method::POST],
            Self::Models | Self::Model(_) | Self::Stored { action: Stored::InputItems, .. } => &[Method::GET],
            Self::Stored { action: Stored::Whole, .. } => &[Method::GET, Method::DELETE],
        }
    }

    /// Whether the method belongs to the path.
    pub fn allows(&self, method: &Method) -> bool {
        self.methods().contains(method)
    }
}

/// Reads a path.
pub fn parse(path: &str) -> Option<Target<'_>> {
    if let Some(rest) = path.strip_prefix("/openai/deployments/") {
        let (deployment, tail) = rest.split_once('/')?;
        let operation = operation(tail).filter(|found| found.dialect() == Dialect::OpenAi)?;
        if deployment.is_empty() {
            return None;
        }
        return Some(Target::Generate { operation, deployment: Some(decoded(deployment)?) });
    }
    let path = path
        .strip_prefix("/openai/v1/")
        .or_else(|| path.strip_prefix("/v1/"))
        .or_else(|| path.strip_prefix('/'))?;
    if let Some(operation) = operation(path) {
        return Some(Target::Generate { operation, deployment: None });
    }
    if path == "models" {
        return Some(Target::Models);
    }
    if let Some(id) = path.strip_prefix("models/").filter(|id| !id.is_empty()) {
        return Some(Target::Model(decoded(id)?));
    }
    stored(path.strip_prefix("responses/")?)
}

/// Which dialect a call of `/v1/models` is in: Anthropic's clients always name their API version.
pub fn models_dialect(headers: &HeaderMap) -> Dialect {
    if headers.contains_key(ANTHROPIC_VERSION) { Dialect::Anthropic } else { Dialect::OpenAi }
}

fn operation(tail: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| operation.upstream_path() == tail)
}

fn stored(tail: &str) -> Option<Target<'_>> {
    let (id, action) = match tail.split_once('/') {
        None => (tail, Stored::Whole),
        Some((id, "cancel")) => (id, Stored::Cancel),
        Some((id, "input_items")) => (id, Stored::InputItems),
        Some(_) => return None,
    };
    // The id goes into an upstream path again, so nothing may be in it that changes a path.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (!id.is_empty() && id.len() <= 256 && id.bytes().all(plain)).then_some(Target::Stored { id, action })
}

/// Undoes percent encoding; `None` when it is broken or not UTF-8.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let (digits, tail) = rest.split_at_checked(2)?;
            let digits =
                std::str::from_utf8(digits).ok().filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_served_path_is_found() {
        for prefix in ["/v1/", "/", "/openai/v1/"] {
            for operation in Operation::ALL {
                let path = format!("{prefix}{}", operation.upstream_path());
                assert_eq!(parse(&path), Some(Target::Generate { operation, deployment: None }), "{path}");
            }
        }
        assert_eq!(
            parse("/openai/deployments/gpt%2D4o/chat/completions"),
            Some(Target::Generate {
                operation: Operation::ChatCompletions,
                deployment: Some("gpt-4o".into())
            })
        );
        assert_eq!(parse("/v1/models"), Some(Target::Models));
        assert_eq!(parse("/v1/models/meta/llama-3"), Some(Target::Model("meta/llama-3".into())));
        assert_eq!(parse("/models/a%2Fb"), Some(Target::Model("a/b".into())));
        assert_eq!(
            parse("/v1/responses/resp_1/cancel"),
            Some(Target::Stored { id: "resp_1", action: Stored::Cancel })
        );
    }

    #[test]
    fn anything_else_is_not_served() {
        for path in [
            "",
            "/",
            "/v1",
            "/v1/",
            "/v1/chat/completions/",
            "/v2/chat/completions",
            "/v1/v1/messages",
            "/v1/models/",
            "/v1/models/%zz",
            "/v1/models/%ff",
            "/v1/models/%+1",
            "/v1/responses/",
            "/v1/responses/../x",
            "/v1/responses/a/b",
            "/v1/responses/a%2Fb",
            "/openai/deployments//chat/completions",
            "/openai/deployments/x/messages",
            "/openai/deployments/x",
            "chat/completions",
        ] {
            assert_eq!(parse(path), None, "{path}");
        }
    }

    #[test]
    fn methods_belong_to_paths() {
        for (path, method, allowed) in [
            ("/v1/messages", Method::POST, true),
            ("/v1/messages", Method::GET, false),
            ("/v1/models", Method::GET, true),
            ("/v1/responses/r1", Method::DELETE, true),
            ("/v1/responses/r1", Method::POST, false),
            ("/v1/responses/r1/cancel", Method::POST, true),
            ("/v1/responses/r1/input_items", Method::GET, true),
        ] {
            assert_eq!(parse(path).unwrap().allows(&method), allowed, "{method} {path}");
        }
    }
}
