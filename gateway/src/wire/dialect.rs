//! The two dialects the gateway speaks and the operations inside them.
//!
//! A request goes only to routes of its own dialect; nothing is translated.

/// Whose API a request is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI and the many servers that copy its paths and shapes (Azure, vLLM, Mistral, OpenRouter).
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `POST /v1/chat/completions`
    ChatCompletions,
    /// `POST /v1/completions`, the legacy form
    Completions,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/embeddings`
    Embeddings,
    /// `POST /v1/messages`
    Messages,
    /// `POST /v1/messages/count_tokens`
    CountTokens,
}

impl Operation {
    /// All operations in the order of their declaration, for tables that must cover each.
    pub const ALL: [Self; 6] = [
        Self::ChatCompletions,
        Self::Completions,
        Self::Responses,
        Self::Embeddings,
        Self::Messages,
        Self::CountTokens,
    ];

    /// The dialect the operation belongs to.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::ChatCompletions | Self::Completions | Self::Responses | Self::Embeddings => Dialect::OpenAi,
            Self::Messages | Self::CountTokens => Dialect::Anthropic,
        }
    }

    /// The name in policies and lanes, as the resources spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "ChatCompletions",
            Self::Completions => "Completions",
            Self::Responses => "Responses",
            Self::Embeddings => "Embeddings",
            Self::Messages => "Messages",
            Self::CountTokens => "CountTokens",
        }
    }

    /// `gen_ai.operation.name` of OpenTelemetry's GenAI conventions, as far as they name one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions | Self::Responses | Self::Messages => "chat",
            Self::Completions => "text_completion",
            Self::Embeddings => "embeddings",
            Self::CountTokens => "count_tokens",
        }
    }

    /// The path below the version prefix of a provider.
    pub const fn upstream_path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat/completions",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Embeddings => "embeddings",
            Self::Messages => "messages",
            Self::CountTokens => "messages/count_tokens",
        }
    }

    /// Whether the operation has a streaming form.
    pub const fn streams(self) -> bool {
        !matches!(self, Self::Embeddings | Self::CountTokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operations_are_distinct() {
        for (index, one) in Operation::ALL.iter().enumerate() {
            assert_eq!(*one as usize, index);
            for other in &Operation::ALL[index + 1..] {
                assert_ne!(one.as_str(), other.as_str());
                assert_ne!(one.upstream_path(), other.upstream_path());
            }
        }
    }
}
