//! `standalone` and `demo`: the commands that run gateways.

use std::{
    collections::BTreeMap, future::Future, net::SocketAddr, path::PathBuf, process::ExitCode, str::FromStr,
};

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::Builder;

use super::code;
use crate::{demo, standalone};

/// Arguments of `hedgerow standalone`.
#[derive(Clone, Debug, Args)]
pub(super) struct StandaloneArgs {
    /// Directory of YAML; keys are files `secrets/<name>/<key>` in it.
    #[arg(long, value_name = "DIR")]
    config: PathBuf,

    /// Where clients connect. A second fleet needs an address of its own: `FLEET=ADDR`.
    #[arg(long, value_name = "[FLEET=]ADDR", default_value = "127.0.0.1:8080")]
    listen: Vec<Listen>,

    /// Health, metrics and state of the first gateway; the next ones count the port up.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9090")]
    admin: SocketAddr,

    /// Gateways per fleet, whatever the fleet says.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    replicas: u16,
}

/// An address, of one fleet or of the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listen {
    fleet: Option<String>,
    address: SocketAddr,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (fleet, address) = match text.split_once('=') {
            Some((fleet, address)) => (Some(fleet.to_owned()), address),
            None => (None, text),
        };
        if fleet.as_deref() == Some("") {
            return Err("the name of the fleet is missing: write FLEET=ADDR".to_owned());
        }
        let address =
            address.parse().map_err(|_| format!("{address:?} is not an address such as 127.0.0.1:8080"))?;
        Ok(Self { fleet, address })
    }
}

/// Runs standalone until it is told to end.
pub(super) fn standalone(args: StandaloneArgs) -> anyhow::Result<ExitCode> {
    let mut options =
        standalone::Options::new(args.config).context("the path of this program is not known")?;
    let mut fleets = BTreeMap::new();
    for listen in args.listen {
        match listen.fleet {
            Some(fleet) => {
                fleets.insert(fleet, listen.address);
            }
            None => options.listen = listen.address,
        }
    }
    options.fleet_listen = fleets;
    options.admin = args.admin;
    options.replicas = args.replicas;
    block_on(standalone::run(options))?.map(|()| ExitCode::SUCCESS)
}

/// Runs the demo to its end.
pub(super) fn demo(args: demo::Args) -> anyhow::Result<ExitCode> {
    block_on(demo::run(args))?.map(code)
}

fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    Ok(Builder::new_multi_thread().enable_all().build().context("cannot start threads")?.block_on(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_belong_to_a_fleet() {
        let plain: Listen = "127.0.0.1:80".parse().unwrap();
        assert_eq!((plain.fleet, plain.address.port()), (None, 80));
        let named: Listen = "blue=[::1]:81".parse().unwrap();
        assert_eq!((named.fleet.as_deref(), named.address.port()), (Some("blue"), 81));
        for bad in ["", "blue", "=127.0.0.1:1", "blue=", "127.0.0.1"] {
            assert!(bad.parse::<Listen>().is_err(), "{bad}");
        }
    }
}
