//! The settings file of `hedgerow operator`: what whoever installs it decides for all fleets.
//!
//! Input: one YAML document, as the chart writes it. Output: [`Settings`]. Refuses: fields that it does not know, and
//! values that no fleet could have, so that a typing error is found at the start and not when it would have mattered.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use hedgerow_crds::units::DurationText;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    domain::{Installation, InstallationError, Tenancy},
    render::children::Image,
};

/// How long a generated fleet without objects is kept.
const GENERATED_FLEET_TTL: Duration = Duration::from_mins(15);

/// What is decided for all fleets.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespaces that are looked at; empty = all.
    pub watch_namespaces: Vec<String>,
    /// Image of the gateways.
    pub image: Image,
    /// What every fleet is subject to.
    pub installation: Installation,
    /// How long a generated fleet that no object names is kept.
    pub generated_fleet_ttl: Duration,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("cannot read the settings {path}: {cause}")]
    Unreadable {
        /// File.
        path: PathBuf,
        /// Cause.
        cause: io::Error,
    },
    /// It is not the document.
    #[error("settings {path}: {cause}")]
    Malformed {
        /// File.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// A value makes no sense.
    #[error("settings: generatedFleetTtl: {0:?} is not a duration: write for example 15m")]
    Duration(String),
    /// The fleet defaults make no sense.
    #[error("settings: {0}")]
    Installation(#[from] InstallationError),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Document {
    watch_namespaces: Vec<String>,
    image: Image,
    fleet_defaults: Value,
    hedging: Hedging,
    tenancy: Tenancy,
    generated_fleet_ttl: Option<DurationText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Hedging {
    allowed: bool,
}

impl Default for Hedging {
    fn default() -> Self {
        Self { allowed: true }
    }
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// It is not there, or not the document.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = fs::read_to_string(path)
            .map_err(|cause| SettingsError::Unreadable { path: path.to_owned(), cause })?;
        Self::parse(&text, path)
    }

    /// The settings of an installation that decides nothing.
    ///
    /// # Errors
    /// None in practice: the built-in defaults are valid.
    pub fn built_in() -> Result<Self, SettingsError> {
        Self::of(Document::default())
    }

    fn parse(text: &str, path: &Path) -> Result<Self, SettingsError> {
        let malformed =
            |cause: String| SettingsError::Malformed { path: path.to_owned(), cause: one_line(&cause) };
        let document = if text.trim().is_empty() {
            Document::default()
        } else {
            serde_saphyr::from_str(text).map_err(|error| malformed(error.to_string()))?
        };
        Self::of(document)
    }

    fn of(document: Document) -> Result<Self, SettingsError> {
        let generated_fleet_ttl = match document.generated_fleet_ttl {
            None => GENERATED_FLEET_TTL,
            Some(text) => text.parse().ok_or_else(|| SettingsError::Duration(text.to_string()))?,
        };
        let installation =
            Installation::new(document.fleet_defaults, document.hedging.allowed, document.tenancy)?;
        let mut watch_namespaces = document.watch_namespaces;
        watch_namespaces.sort();
        watch_namespaces.dedup();
        Ok(Self { watch_namespaces, image: document.image, installation, generated_fleet_ttl })
    }
}

/// Parsers like to draw pictures; a log line has no room for them.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(text, Path::new("settings.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_decides_nothing() {
        let settings = parse("").unwrap();
        assert!(settings.watch_namespaces.is_empty());
        assert_eq!(settings.generated_fleet_ttl, Duration::from_mins(15));
        assert_eq!(settings.image.repository, "hedgerow-gateway");
    }

    #[test]
    fn every_setting_is_read() {
        let settings = parse(
            "watchNamespaces: [team-b, team-a, team-a]\n\
             image: {repository: r/g, tag: '1', digest: '', pullPolicy: Never}\n\
             fleetDefaults: {replicas: 3}\n\
             hedging: {allowed: false}\n\
             tenancy: {secretNames: ['x-*'], allowedEndpoints: [a.example]}\n\
             generatedFleetTtl: 30s\n",
        )
        .unwrap();
        assert_eq!(settings.watch_namespaces, ["team-a", "team-b"]);
        assert_eq!(settings.image.repository, "r/g");
        assert_eq!(settings.generated_fleet_ttl, Duration::from_secs(30));
        let effective =
            settings.installation.effective(&hedgerow_crds::v1alpha1::GatewayFleetSpec::default());
        assert_eq!(effective.replicas, 3);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place() {
        for (text, part) in [
            ("watchNamespace: []", "watchNamespace"),
            ("generatedFleetTtl: soon", "soon"),
            ("fleetDefaults: {replica: 1}", "replica"),
            ("image: {repo: x}", "repo"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
