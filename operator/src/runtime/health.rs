//! The health port: `/livez`, `/readyz`, `/metrics`.
//!
//! Alive = the process answers. Ready = everything that is watched was listed once, and the process is not ending; a standby
//! is ready, too. The API server being away changes neither: a restart would not bring it back.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use tokio::{net::TcpListener, sync::watch};

use super::metrics::Metrics;

/// What OpenMetrics text is called.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the port shows.
#[derive(Clone)]
struct Shown {
    metrics: Arc<Metrics>,
    ready: watch::Receiver<bool>,
}

/// The port cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} ({cause}): choose another address with --listen")]
pub struct ListenError {
    address: SocketAddr,
    cause: std::io::Error,
}

/// Opens the port.
///
/// # Errors
/// It is taken, or not ours.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).await.map_err(|cause| ListenError { address, cause })
}

/// Answers until the process ends.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, ready: watch::Receiver<bool>) {
    let router = Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(figures))
        .with_state(Shown { metrics, ready });
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "the health port ended");
    }
}

async fn readiness(State(shown): State<Shown>) -> impl IntoResponse {
    if *shown.ready.borrow() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not everything was listed yet, or ending\n")
    }
}

async fn figures(State(shown): State<Shown>) -> impl IntoResponse {
    ([(CONTENT_TYPE, OPENMETRICS)], shown.metrics.text())
}
