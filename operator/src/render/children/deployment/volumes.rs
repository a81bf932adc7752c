//! What the pods see below `/etc/hedgerow`.
//!
//! `config/` is one projected volume, so that one patch of a pod refreshes both files. `secrets/<name>/` is one volume per
//! Secret or `ConfigMap` with authorities, optional, so that a missing one leaves one route unresolved and no pod waits.
//! No `subPath` and no list of keys: neither would follow a change.

use std::collections::BTreeSet;

use hedgerow_config::digest::digest;
use k8s_openapi::api::core::v1::{
    ConfigMapProjection, ConfigMapVolumeSource, ProjectedVolumeSource, SecretProjection, SecretVolumeSource,
    Volume, VolumeMount, VolumeProjection,
};

use super::super::{ChildKind, Identity};
use crate::render::Mounts;

/// Directory with `gateway.json` and `fleet.json`.
pub(super) const CONFIG_PATH: &str = "/etc/hedgerow/config";
/// Directory with one directory per Secret.
pub(super) const SECRETS_PATH: &str = "/etc/hedgerow/secrets";
/// Name of the volume of the configuration.
const CONFIG: &str = "config";
/// Longest name of a volume: a DNS label.
const LONGEST_NAME: usize = 63;

/// The volumes of a pod.
pub(super) fn volumes(identity: &Identity, mounts: &Mounts) -> Vec<Volume> {
    let config = Volume {
        name: CONFIG.to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![
                config_map(identity.name(ChildKind::Config), None),
                config_map(identity.name(ChildKind::FleetFile), Some(true)),
            ]),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    };
    [config].into_iter().chain(names(mounts).into_iter().map(|name| mounted(name, mounts))).collect()
}

/// Where the container sees them.
pub(super) fn volume_mounts(mounts: &Mounts) -> Vec<VolumeMount> {
    let mount = |name: String, path: String| VolumeMount {
        name,
        mount_path: path,
        read_only: Some(true),
        ..VolumeMount::default()
    };
    let secrets = names(mounts);
    let secrets = secrets.iter().map(|name| mount(volume_name(name), format!("{SECRETS_PATH}/{name}")));
    [mount(CONFIG.to_owned(), CONFIG_PATH.to_owned())].into_iter().chain(secrets).collect()
}

/// Secrets and `ConfigMap`s share one directory, so a name is mounted once.
fn names(mounts: &Mounts) -> BTreeSet<&str> {
    mounts.secrets.iter().chain(&mounts.config_maps).map(String::as_str).collect()
}

/// The volume of one name; where a Secret and a `ConfigMap` have the same, both are in it.
fn mounted(name: &str, mounts: &Mounts) -> Volume {
    let volume = Volume { name: volume_name(name), ..Volume::default() };
    match (mounts.secrets.contains(name), mounts.config_maps.contains(name)) {
        (true, true) => Volume {
            projected: Some(ProjectedVolumeSource {
                sources: Some(vec![config_map(name.to_owned(), Some(true)), secret(name.to_owned())]),
                ..ProjectedVolumeSource::default()
            }),
            ..volume
        },
        (false, true) => Volume {
            config_map: Some(ConfigMapVolumeSource {
                name: name.to_owned(),
                optional: Some(true),
                ..ConfigMapVolumeSource::default()
            }),
            ..volume
        },
        _ => Volume {
            secret: Some(SecretVolumeSource {
                secret_name: Some(name.to_owned()),
                optional: Some(true),
                ..SecretVolumeSource::default()
            }),
            ..volume
        },
    }
}

/// A name of its own for each Secret: its name where that is a DNS label and short enough, else a hash of it.
fn volume_name(name: &str) -> String {
    let plain = format!("secret-{name}");
    if plain.len() <= LONGEST_NAME && !plain.contains('.') {
        plain
    } else {
        format!("hashed-{}", &digest(name.as_bytes())[..32])
    }
}

fn config_map(name: String, optional: Option<bool>) -> VolumeProjection {
    VolumeProjection {
        config_map: Some(ConfigMapProjection { name, optional, ..ConfigMapProjection::default() }),
        ..VolumeProjection::default()
    }
}

fn secret(name: String) -> VolumeProjection {
    VolumeProjection {
        secret: Some(SecretProjection { name, optional: Some(true), ..SecretProjection::default() }),
        ..VolumeProjection::default()
    }
}
