//! Configurations that are large, and those that are too large.

use std::io::Read as _;

use flate2::read::GzDecoder;
use hedgerow_config::{GatewayConfig, gateway::MAX_BYTES};

use super::{super::config as unit, *};

/// The bytes in a ConfigMap, as a pod would read them.
fn stored(child: &Child) -> Vec<u8> {
    let map: k8s_openapi::api::core::v1::ConfigMap = serde_json::from_value(child.object.clone()).unwrap();
    match (map.data, map.binary_data) {
        (Some(data), None) => data["gateway.json"].clone().into_bytes(),
        (None, Some(data)) => data["gateway.json"].0.clone(),
        other => unreachable!("one or the other: {other:?}"),
    }
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

fn identity() -> Identity {
    Identity { namespace: "n".to_owned(), fleet: "f".to_owned(), owner: None }
}

/// Bytes that no compressor makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn a_configuration_is_text_up_to_the_bound_and_gzip_above_it_under_one_key() {
    let at_bound = vec![b' '; unit::PLAIN_UP_TO];
    assert_eq!(stored(&config(&identity(), &at_bound).unwrap()), at_bound);
    let above = vec![b' '; unit::PLAIN_UP_TO + 1];
    let packed = stored(&config(&identity(), &above).unwrap());
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < 1000);
    assert_eq!(unpacked(&packed), above);
}

#[test]
fn what_is_stored_is_read_back_whichever_form_it_has_and_no_more_than_a_gateway_would_read() {
    for plain in [vec![b' '; 1], vec![b' '; unit::PLAIN_UP_TO + 1]] {
        let child = config(&identity(), &plain).unwrap();
        assert_eq!(stored_config(&child.object).as_ref(), Some(&plain), "{} bytes", plain.len());
    }
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut bomb, &vec![b' '; MAX_BYTES + 1]).unwrap();
    let data = k8s_openapi::ByteString(bomb.finish().unwrap());
    assert_eq!(stored_config(&json!({ "binaryData": { "gateway.json": data } })), None);
    assert_eq!(stored_config(&json!({ "binaryData": { "gateway.json": "AAAA" } })), None, "no gzip");
    assert_eq!(stored_config(&json!({ "data": {} })), None);
}

#[test]
fn what_does_not_fit_is_refused_with_both_sizes() {
    let fits = noise(unit::MAX_STORED - 1024);
    assert!(config(&identity(), &fits).is_ok());
    let refused = config(&identity(), &noise(unit::MAX_STORED)).unwrap_err();
    assert!(refused.stored > unit::MAX_STORED && refused.to_string().contains("several fleets"), "{refused}");
    assert!(config(&identity(), &vec![b' '; MAX_BYTES]).is_ok());
    assert!(config(&identity(), &vec![b' '; MAX_BYTES + 1]).is_err(), "no gateway would read it");
}

#[test]
fn a_fleet_of_256_routes_with_unicode_fits_and_can_be_read_back() {
    let mut stage = Stage { fleet: LONGEST, ..Stage::new() };
    stage.routes = (0..256)
        .map(|n| {
            let mut spec = route(&format!("r{n}"));
            spec["models"] = (0..8).map(|m| json!({ "name": format!("model-{m}-of-{n}") })).collect();
            (format!("{n:03}-{}", "x".repeat(249)), spec)
        })
        .collect();
    stage.policies[0].1["cohorts"][0]["match"]["headers"] = json!({ "x-use": "Übersetzung 翻訳 🌍" });
    let compiled = stage.compiled();
    assert_eq!(compiled.config.routes.len(), 256);
    let written = compiled.config.write();
    let children = stage.render(&written).unwrap();
    let packed = stored(&children[0]);
    assert!(written.len() > unit::PLAIN_UP_TO && packed.len() < unit::MAX_STORED / 4, "{}", packed.len());
    let read = GatewayConfig::read(&unpacked(&packed)).unwrap();
    assert_eq!(read, compiled.config);
    assert_eq!(read.cohorts[0].matches.headers["x-use"], "Übersetzung 翻訳 🌍");
}

#[test]
fn five_hundred_models_of_the_longest_names_fit() {
    let mut stage = Stage::new();
    stage.routes[0].1["models"] = (0..500)
        .map(|n| json!({ "name": format!("{n:03}{}", "m".repeat(125)), "pricing": { "inputMicrosPerMillion": n } }))
        .collect();
    assert!(stage.render(&stage.compiled().config.write()).is_ok());
}
