//! The providers that `init` knows: which variables name them, and what their route looks like.
//!
//! Prices are those of `crds/examples`, list prices in USD; the files ask their reader to check them.

use std::fmt::Write as _;

use super::plan::InitError;

/// A provider whose key is there.
pub(super) struct Provider {
    /// Name of route, file and key.
    pub(super) name: &'static str,
    /// The key.
    pub(super) key: String,
    /// The variable that it is from.
    pub(super) variable: &'static str,
    api: &'static str,
    endpoint: String,
    auth: &'static str,
    region: String,
    api_version: Option<String>,
    models: Vec<Model>,
}

struct Model {
    name: String,
    deployment: Option<String>,
    /// Input, cached input and output in micro-units of USD per million tokens.
    prices: Option<[u64; 3]>,
}

const GPT_4O: (&str, [u64; 3]) = ("gpt-4o", [2_500_000, 1_250_000, 10_000_000]);
const GPT_4O_MINI: (&str, [u64; 3]) = ("gpt-4o-mini", [150_000, 75_000, 600_000]);
const CLAUDE: (&str, [u64; 3]) = ("claude-sonnet-4-5", [3_000_000, 300_000, 15_000_000]);

type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// OpenAI, from `OPENAI_API_KEY`.
pub(super) fn openai(set: Variables<'_>) -> Result<Option<Provider>, InitError> {
    let Some(key) = key(set, "OPENAI_API_KEY")? else { return Ok(None) };
    Ok(Some(Provider {
        name: "openai",
        key,
        variable: "OPENAI_API_KEY",
        api: "OpenAI",
        endpoint: "https://api.openai.com".to_owned(),
        auth: BEARER,
        region: "global".to_owned(),
        api_version: None,
        models: [GPT_4O, GPT_4O_MINI].into_iter().map(priced).chain([any()]).collect(),
    }))
}

/// Anthropic, from `ANTHROPIC_API_KEY`.
pub(super) fn anthropic(set: Variables<'_>) -> Result<Option<Provider>, InitError> {
    let Some(key) = key(set, "ANTHROPIC_API_KEY")? else { return Ok(None) };
    Ok(Some(Provider {
        name: "anthropic",
        key,
        variable: "ANTHROPIC_API_KEY",
        api: "Anthropic",
        endpoint: "https://api.anthropic.com".to_owned(),
        auth: X_API_KEY,
        region: "global".to_owned(),
        api_version: None,
        models: [CLAUDE].into_iter().map(priced).chain([any()]).collect(),
    }))
}

/// Azure OpenAI, from `AZURE_OPENAI_API_KEY` and `AZURE_OPENAI_ENDPOINT`; `..._DEPLOYMENT`, `..._API_VERSION` and
/// `..._REGION` where they are set.
pub(super) fn azure(set: Variables<'_>) -> Result<Option<Provider>, InitError> {
    let Some(key) = key(set, "AZURE_OPENAI_API_KEY")? else { return Ok(None) };
    let endpoint = set("AZURE_OPENAI_ENDPOINT").ok_or(InitError::Missing {
        present: "AZURE_OPENAI_API_KEY",
        missing: "AZURE_OPENAI_ENDPOINT",
        example: "https://<resource>.openai.azure.com",
    })?;
    let endpoint = checked("AZURE_OPENAI_ENDPOINT", endpoint, "a plain https:// address", |value| {
        value
            .strip_prefix("https://")
            .is_some_and(|host| plain(host, ".-/:") && !host.starts_with(['.', '-', '/', ':']))
    })?;
    let word = |name, expected, extra: &'static str| {
        set(name).map(|value| checked(name, value, expected, |value| plain(value, extra))).transpose()
    };
    let deployment = word("AZURE_OPENAI_DEPLOYMENT", "the name of a deployment", "._-")?;
    Ok(Some(Provider {
        name: "azure",
        key,
        variable: "AZURE_OPENAI_API_KEY",
        api: "AzureOpenAI",
        endpoint,
        auth: API_KEY,
        region: word("AZURE_OPENAI_REGION", "a region such as swedencentral", "")?
            .map_or_else(|| "unknown".to_owned(), |region| region.to_lowercase()),
        api_version: word("AZURE_OPENAI_API_VERSION", "a version such as 2024-10-21", ".-")?,
        models: deployment.map_or_else(
            || [GPT_4O, GPT_4O_MINI].into_iter().map(priced).collect(),
            |deployment| vec![deployed(deployment)],
        ),
    }))
}

/// A key; gateways send it as a header value, which is one line.
fn key(set: Variables<'_>, name: &'static str) -> Result<Option<String>, InitError> {
    let one_line = |value: &str| !value.chars().any(|c| c.is_ascii_control() && c != '\t');
    set(name)
        .map(|value| checked(name, value, "a key of one line without control characters", one_line))
        .transpose()
}

const BEARER: &str = "    type: Bearer\n";
const X_API_KEY: &str = "    type: Header\n    header: x-api-key\n";
const API_KEY: &str = "    type: Header\n    header: api-key\n";

fn priced((name, prices): (&str, [u64; 3])) -> Model {
    Model { name: name.to_owned(), deployment: None, prices: Some(prices) }
}

/// Every model that no route names.
fn any() -> Model {
    Model { name: "\"*\"".to_owned(), deployment: None, prices: None }
}

/// The model of a deployment: deployments are usually named after it.
fn deployed(deployment: String) -> Model {
    let known = [GPT_4O_MINI, GPT_4O].into_iter().find(|(name, _)| deployment.contains(name));
    let (name, prices) =
        known.map_or((deployment.clone(), None), |(name, prices)| (name.to_owned(), Some(prices)));
    Model { name, deployment: Some(deployment), prices }
}

/// At most 200 ASCII letters, digits and some more.
fn plain(value: &str, more: &str) -> bool {
    (1..=200).contains(&value.len()) && value.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn checked(
    name: &'static str,
    value: String,
    expected: &'static str,
    holds: impl Fn(&str) -> bool,
) -> Result<String, InitError> {
    if holds(&value) { Ok(value) } else { Err(InitError::Value { name, expected }) }
}

impl Provider {
    /// Names of the models that have a price.
    pub(super) fn priced_models(&self) -> impl Iterator<Item = &str> {
        self.models
            .iter()
            .filter(|model| model.prices.is_some() || model.deployment.is_some())
            .map(|model| &*model.name)
    }

    /// The route as YAML.
    pub(super) fn route(&self) -> String {
        let Self { name, api, endpoint, auth, region, .. } = self;
        let mut text = format!(
            "\
# One upstream. Prices are micro-units of USD per million tokens: check them against your contract.
apiVersion: hedgerow.dev/v1alpha1
kind: ProviderRoute
metadata:
  name: {name}
spec:
  api: {api}
  endpoint: {endpoint}
  auth:
{auth}    secretRef:
      key: {name} # in a cluster: Secret hedgerow-default-keys; standalone: secrets/hedgerow-default-keys/{name}
{}  failureDomain: # a hedge must leave it
    provider: {name}
    region: {region}
  models:
",
            self.azure()
        );
        for model in &self.models {
            let _ = writeln!(text, "    - name: {}", model.name);
            if let Some([input, cached, output]) = model.prices {
                let _ = write!(
                    text,
                    "      pricing:\n        inputMicrosPerMillion: {input}\n        cachedInputMicrosPerMillion: {cached}\n        outputMicrosPerMillion: {output}\n"
                );
            }
        }
        text
    }

    /// The part that only Azure has.
    fn azure(&self) -> String {
        let mut text = String::new();
        if let Some(version) = &self.api_version {
            let _ = writeln!(text, "    apiVersion: \"{version}\"");
        }
        for model in &self.models {
            if let Some(deployment) = &model.deployment {
                let _ = write!(text, "    deployments:\n      {}: \"{deployment}\"\n", model.name);
            }
        }
        if text.is_empty() { text } else { format!("  azure:\n{text}") }
    }
}
