//! The top-level keys that routing looks at.
//!
//! A key is here when its presence or value decides lane, eligibility, splices or size. Everything else passes
//! through unseen.

macro_rules! keys {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A top-level key that routing looks at.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Key {
            $(#[doc = concat!("`", $name, "`")] $(#[$doc])* $variant,)*
        }

        impl Key {
            /// All keys.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The spelling in JSON.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Finds a key by its plain spelling.
            #[inline]
            pub fn find(spelling: &[u8]) -> Option<Self> {
                // A byte-string match compiles to a switch over the length.
                $(const $variant: &[u8] = $name.as_bytes();)*
                match spelling { $($variant => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

#[expect(non_upper_case_globals, reason = "the constants inside `find` take the names of the variants")]
mod table {
    keys! {
        Model = "model",
        Stream = "stream",
        StreamOptions = "stream_options",
        Messages = "messages",
        Input = "input",
        Prompt = "prompt",
        System = "system",
        Instructions = "instructions",
        Tools = "tools",
        Functions = "functions",
        ToolChoice = "tool_choice",
        WebSearchOptions = "web_search_options",
        McpServers = "mcp_servers",
        Container = "container",
        ContextManagement = "context_management",
        Fallbacks = "fallbacks",
        Plugins = "plugins",
        N = "n",
        BestOf = "best_of",
        MaxTokens = "max_tokens",
        MaxCompletionTokens = "max_completion_tokens",
        MaxOutputTokens = "max_output_tokens",
        Store = "store",
        Background = "background",
        PreviousResponseId = "previous_response_id",
        Conversation = "conversation",
        PromptCacheKey = "prompt_cache_key",
        Modalities = "modalities",
        Audio = "audio",
        ServiceTier = "service_tier",
        ResponseFormat = "response_format",
    }
}

pub use table::Key;

impl Key {
    /// Whether the value may hold earlier turns, and with them signs of state.
    #[inline]
    pub fn holds_prompt(self) -> bool {
        matches!(self, Self::Messages | Self::Input | Self::Prompt | Self::System | Self::Instructions)
    }
}

/// The routing key that an escaped spelling hides, if it hides one.
pub(super) fn escaped(spelling: &[u8]) -> Option<Key> {
    if !spelling.contains(&b'\\') {
        return None;
    }
    let quoted = [b"\"", spelling, b"\""].concat();
    let plain: String = serde_json::from_slice(&quoted).ok()?;
    Key::find(plain.as_bytes())
}
