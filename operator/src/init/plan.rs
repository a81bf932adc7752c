//! Environment -> files, as values.

use std::fmt;

use super::provider::{self, Provider};

/// Why there is nothing to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    /// No key at all.
    #[error(
        "no provider key in the environment: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or AZURE_OPENAI_API_KEY together with \
         AZURE_OPENAI_ENDPOINT"
    )]
    NoKey,
    /// A variable is needed beside another.
    #[error("{present} is set but {missing} is not: set it to {example}")]
    Missing {
        /// What is there.
        present: &'static str,
        /// What is not.
        missing: &'static str,
        /// What it could look like.
        example: &'static str,
    },
    /// A variable has a value that cannot be used. The value is not repeated: it may be a key in the wrong place.
    #[error("the value of {name} is not {expected}")]
    Value {
        /// The variable.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

/// A file to write.
#[derive(Clone, PartialEq, Eq)]
pub struct Planned {
    /// Path below the directory.
    pub path: String,
    /// Contents.
    pub text: String,
    /// The variable whose key it holds; then only the owner may read it.
    pub secret: Option<&'static str>,
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.secret.is_some() { "(redacted)" } else { &self.text };
        f.debug_struct("Planned").field("path", &self.path).field("text", &text).finish_non_exhaustive()
    }
}

/// Everything to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The files.
    pub files: Vec<Planned>,
    /// Providers, as the next steps name them.
    pub providers: Vec<&'static str>,
}

/// Secret of the default fleet, which routes use unless they name another.
const SECRET: &str = "hedgerow-default-keys";

/// Plans the files for what an environment holds.
pub fn plan(variable: &dyn Fn(&str) -> Option<String>) -> Result<Plan, InitError> {
    let set =
        |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let providers: Vec<_> = [provider::openai(&set)?, provider::azure(&set)?, provider::anthropic(&set)?]
        .into_iter()
        .flatten()
        .collect();
    if providers.is_empty() {
        return Err(InitError::NoKey);
    }
    let mut files: Vec<_> = providers.iter().flat_map(route_files).collect();
    files.push(public("interactive.yaml", LANE.to_owned()));
    files.push(public("chat.yaml", policy(&providers)));
    files.push(public(".gitignore", "secrets/\n.status/\n.run/\n".to_owned()));
    Ok(Plan { files, providers: providers.iter().map(|provider| provider.name).collect() })
}

fn public(path: &str, text: String) -> Planned {
    Planned { path: path.to_owned(), text, secret: None }
}

fn route_files(provider: &Provider) -> [Planned; 2] {
    let name = provider.name;
    [
        public(&format!("{name}.yaml"), provider.route()),
        Planned {
            path: format!("secrets/{SECRET}/{name}"),
            text: provider.key.clone(),
            secret: Some(provider.variable),
        },
    ]
}

const LANE: &str = "\
# Requests that share one adaptive concurrency limit. Without a match it takes all that no other lane takes.
apiVersion: hedgerow.dev/v1alpha1
kind: PriorityLane
metadata:
  name: interactive
spec:
  priority: 500
";

fn policy(providers: &[Provider]) -> String {
    let mut models: Vec<_> = providers.iter().flat_map(Provider::priced_models).collect();
    models.sort_unstable();
    models.dedup();
    format!(
        "\
# Which requests may be hedged. Observe decides and counts but sends nothing: look at what it would do, then write
# Enforce. A hedge goes to another provider or region that serves the same model in the same API.
apiVersion: hedgerow.dev/v1alpha1
kind: HedgePolicy
metadata:
  name: chat
spec:
  mode: Observe
  cohorts:
    - name: chat-stream
      match:
        stream: true
        models: [{}]
",
        models.join(", ")
    )
}
