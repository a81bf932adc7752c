//! The scripted providers and the traffic generator as commands, for people and for tests in other languages.

mod measure;

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{Args, Parser};
use hedgerow_sim::{Dialect, Profile, Provider, ProviderConfig};
use serde_json::{Value, json};

/// Scripted LLM providers over real HTTP, and traffic for a gateway.
#[derive(Debug, Parser)]
#[command(version)]
enum Command {
    /// Serve a scripted provider until the process is ended.
    Provider(ProviderArgs),
    /// Send traffic and print what it measured.
    Traffic(measure::TrafficArgs),
}

#[derive(Debug, Args)]
struct ProviderArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// openai or anthropic.
    #[arg(long, default_value = "openai")]
    dialect: Dialect,
    /// Name in tokens and request ids.
    #[arg(long, default_value = "sim")]
    name: String,
    /// A profile as JSON, or the name of a file that holds one.
    #[arg(long)]
    profile: Option<String>,
    /// Seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The only key that is accepted.
    #[arg(long)]
    api_key: Option<String>,
    /// Models that are listed.
    #[arg(long = "model", default_value = "sim-model")]
    models: Vec<String>,
    /// TLS with a throw-away certificate.
    #[arg(long)]
    tls: bool,
    /// Write the certificate to trust into this file.
    #[arg(long, requires = "tls")]
    ca_out: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Provider(args) => provider(args).await,
        Command::Traffic(args) => measure::traffic(args).await,
    }
}

async fn provider(args: ProviderArgs) -> anyhow::Result<()> {
    let config = ProviderConfig {
        listen: args.listen,
        tls: args.tls,
        seed: args.seed,
        profile: profile(args.profile.as_deref())?,
        models: args.models,
        api_key: args.api_key,
        ..ProviderConfig::new(&args.name, args.dialect)
    };
    let provider = Provider::start(config).await?;
    if let (Some(path), Some(pem)) = (&args.ca_out, provider.ca_pem()) {
        std::fs::write(path, pem).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&json!({"name": provider.name(), "addr": provider.addr(), "baseUrl": provider.base_url()}))?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        ended = tokio::signal::ctrl_c() => ended?,
    }
    provider.shutdown().await;
    Ok(())
}

fn profile(text: Option<&str>) -> anyhow::Result<Profile> {
    let Some(text) = text else { return Ok(Profile::default()) };
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("--profile is not a profile");
    }
    let json = std::fs::read_to_string(text).with_context(|| format!("cannot read the profile {text}"))?;
    serde_json::from_str(&json).with_context(|| format!("{text} is not a profile"))
}

/// One line of JSON on stdout, at once.
fn print(value: &Value) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}
