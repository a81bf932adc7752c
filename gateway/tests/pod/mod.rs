//! A gateway without files and sockets, over scripted transports.

use std::sync::Arc;

use hedgerow_config::GatewayConfig;
use hedgerow_gateway::{
    config::Credentials,
    race::transport::Transports,
    runtime::{Options, Runtime},
    settle::writer::RecordWriter,
    telemetry::metrics::Metrics,
};

/// What all its requests share, with this configuration in force; it writes no records.
pub fn runtime(transports: impl Transports + 'static, config: GatewayConfig) -> Arc<Runtime> {
    let runtime = Runtime::new(Options {
        pod_uid: "pod".into(),
        metrics: Metrics::new(),
        records: RecordWriter::discard(),
        credentials: Arc::new(Credentials::default()),
        transports: Box::new(transports),
    });
    runtime.apply(config, "0".into()).unwrap();
    runtime
}
