//! The stage: two scripted providers and, in front of them, the same `standalone` that users run, on the files of
//! `crds/examples/demo/`.
//!
//! Inputs: the arguments. Outputs: a running stage that a scene can be set on. The files are copied to a directory of
//! their own with the providers' real ports; everything is on loopback. Dropping the directory removes what was written.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use hedgerow_sim::{Dialect, Provider, ProviderConfig};

use super::{
    files::FILES,
    script::{self, Region, Scene},
};
use crate::standalone::{Options, Records, Running, Screen, Standalone};

/// Gateway processes.
pub(crate) const GATEWAYS: u16 = 2;

/// Everything that runs.
pub(crate) struct Stage {
    providers: Vec<(Region, Provider)>,
    /// The controller with its gateways.
    pub(crate) running: Running,
    directory: PathBuf,
}

impl Stage {
    /// Starts providers, controller and gateways; returns when the gateways take traffic.
    pub(crate) async fn start(listen: SocketAddr, seed: u64) -> anyhow::Result<Self> {
        let mut providers = Vec::new();
        for (index, region) in Region::ALL.into_iter().enumerate() {
            let config = ProviderConfig {
                seed: seed.wrapping_add(index as u64),
                profile: script::profile(Scene::Baseline, region),
                ..ProviderConfig::new(region.name(), Dialect::OpenAi)
            };
            let provider = Provider::start(config)
                .await
                .with_context(|| format!("provider {} did not start", region.name()))?;
            providers.push((region, provider));
        }
        let directory = std::env::temp_dir().join(format!("hedgerow-demo-{}", std::process::id()));
        write_files(&directory, &providers)?;
        let options = Options {
            listen,
            admin: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            replicas: GATEWAYS,
            records: Records::Discard,
            screen: Screen::Silent,
            ..Options::new(directory.clone()).context("this program cannot find itself")?
        };
        let running = Standalone::start(options).await.context("the gateways did not start")?;
        Ok(Self { providers, running, directory })
    }

    /// Sets `scene`.
    pub(crate) fn set(&self, scene: Scene) {
        for (region, provider) in &self.providers {
            provider.set(script::profile(scene, *region));
        }
    }

    /// Ends gateways and providers and removes the files.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let ended = self.running.shutdown().await;
        for (_, provider) in self.providers {
            provider.shutdown().await;
        }
        let removed = std::fs::remove_dir_all(&self.directory);
        ended.context("the gateways did not end cleanly")?;
        removed.with_context(|| format!("{} could not be removed", self.directory.display()))
    }
}

/// Where to listen: what was asked for, else the usual port, else any free one.
pub(crate) fn address(asked: Option<SocketAddr>) -> SocketAddr {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
    asked.unwrap_or_else(|| {
        if TcpListener::bind(usual).is_ok() { usual } else { SocketAddr::from((Ipv4Addr::LOCALHOST, 0)) }
    })
}

fn write_files(directory: &Path, providers: &[(Region, Provider)]) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{} could not be made", directory.display()))?;
    for (name, text) in FILES {
        let mut text = (*text).to_owned();
        for (region, provider) in providers {
            if *name == format!("{}.yaml", region.name()) {
                text = with_endpoint(&text, &provider.base_url());
            }
        }
        let path = directory.join(name);
        std::fs::write(&path, text).with_context(|| format!("{} could not be written", path.display()))?;
    }
    Ok(())
}

/// The same YAML with another `endpoint:`.
fn with_endpoint(text: &str, endpoint: &str) -> String {
    let lines = text.lines().map(|line| {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start().starts_with("endpoint:") {
            format!("{}endpoint: {endpoint}\n", &line[..indent])
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_of_the_demo_gets_the_port_of_its_provider() {
        for region in Region::ALL {
            let (_, text) =
                FILES.iter().find(|(name, _)| *name == format!("{}.yaml", region.name())).unwrap();
            let changed = with_endpoint(text, "http://127.0.0.1:4242");
            assert_eq!(changed.matches("http://127.0.0.1:4242").count(), 1, "{}", region.name());
            assert_eq!(changed.lines().count(), text.lines().count());
        }
    }

    #[test]
    fn a_port_that_was_asked_for_is_taken_as_it_is() {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert_eq!(address(Some(asked)), asked);
    }
}
