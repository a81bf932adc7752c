//! `gateway.json` and `fleet.json`: what can be read is written and read again as the same.

#![no_main]

use hedgerow_config::{FleetFile, GatewayConfig};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(config) = GatewayConfig::read(bytes) {
        assert_eq!(GatewayConfig::read(&config.write()).unwrap(), config);
    }
    if let Ok(file) = FleetFile::read(bytes) {
        assert_eq!(FleetFile::read(&file.write()).unwrap(), file);
    }
});
