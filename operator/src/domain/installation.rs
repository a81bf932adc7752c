//! What an installation presumes of every fleet, forbids to all of them, and lets their authors reach.
//!
//! Input: three settings of whoever runs the operator. Output: a [`Snapshot`] as decisions should see it. `fleetDefaults`
//! is a partial `GatewayFleet` spec: a field that a fleet leaves at its built-in default takes the value given here. The
//! schema fills defaults in before anybody can look, so a fleet that writes a built-in default cannot be told from one
//! that leaves the field out.
//!
//! Refuses: fields that no fleet has, and a spec that the API server would not take.

use hedgerow_crds::{
    API_VERSION, Kind,
    v1alpha1::{GatewayFleetSpec, gateway_fleet::Hedging},
};
use serde_json::{Map, Value, json};

use super::{snapshot::Snapshot, tenancy::Tenancy};

/// Settings of whoever runs the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Installation {
    presumed: Value,
    hedging_allowed: bool,
    tenancy: Tenancy,
}

/// `fleetDefaults` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallationError {
    /// Not the shape of a spec.
    #[error("fleetDefaults: {0}: write it like the spec of a GatewayFleet")]
    Shape(String),
    /// A field that no `GatewayFleet` has.
    #[error("fleetDefaults.{0} is not a field of a GatewayFleet: see kubectl explain gatewayfleet.spec")]
    Unknown(String),
    /// The API server would refuse a fleet like this.
    #[error("fleetDefaults: {path}: {message}")]
    Invalid {
        /// The field.
        path: String,
        /// What to change.
        message: String,
    },
}

impl Installation {
    /// Presumes `fleet_defaults`, a partial `GatewayFleet` spec.
    ///
    /// # Errors
    /// No fleet could have such a spec.
    pub fn new(
        fleet_defaults: Value,
        hedging_allowed: bool,
        tenancy: Tenancy,
    ) -> Result<Self, InstallationError> {
        let presumed = if fleet_defaults.is_null() { json!({}) } else { fleet_defaults };
        let installation = Self { presumed, hedging_allowed, tenancy };
        let shape = |error: serde_json::Error| InstallationError::Shape(error.to_string());
        if !installation.presumed.is_object() {
            return Err(InstallationError::Shape("not a map".to_owned()));
        }
        let merged = installation.merged(&GatewayFleetSpec::default());
        let spec: GatewayFleetSpec = serde_json::from_value(merged).map_err(shape)?;
        let known = serde_json::to_value(spec).map_err(shape)?;
        if let Some(path) = unknown(&installation.presumed, &known) {
            return Err(InstallationError::Unknown(path));
        }
        let object = json!({
            "apiVersion": API_VERSION, "kind": Kind::GatewayFleet.as_str(), "metadata": { "name": "default" },
            "spec": known,
        });
        match Kind::GatewayFleet.violations(&object, None).into_iter().next() {
            Some(violation) => {
                Err(InstallationError::Invalid { path: violation.path, message: violation.message })
            }
            None => Ok(installation),
        }
    }

    /// Presumes, forbids and withholds nothing: where whoever writes the objects also owns the machine.
    pub fn permissive() -> Self {
        Self { presumed: Value::Object(Map::new()), hedging_allowed: true, tenancy: Tenancy::permissive() }
    }

    /// A fleet's spec as it is in force.
    pub fn effective(&self, written: &GatewayFleetSpec) -> GatewayFleetSpec {
        // Each leaf has the type that one of two valid specs gave it.
        let mut spec: GatewayFleetSpec =
            serde_json::from_value(self.merged(written)).unwrap_or_else(|_| written.clone());
        if !self.hedging_allowed {
            spec.hedging = Hedging::Forbidden;
        }
        spec
    }

    /// The objects of a fleet as decisions should see them.
    pub fn govern(&self, snapshot: Snapshot) -> Snapshot {
        let mut settings = snapshot.settings;
        if let Some(fleet) = &mut settings {
            fleet.spec = self.effective(&fleet.spec);
        }
        let presumed = self.effective(&GatewayFleetSpec::default());
        Snapshot { settings, presumed, tenancy: self.tenancy.clone(), ..snapshot }
    }

    fn merged(&self, written: &GatewayFleetSpec) -> Value {
        let plain = |spec: &GatewayFleetSpec| serde_json::to_value(spec).unwrap_or_default();
        let mut spec = plain(written);
        presume(&mut spec, &plain(&GatewayFleetSpec::default()), &self.presumed);
        spec
    }
}

/// Takes over each presumed value where `written` has what is `built_in`. Fields without a built-in value (lists, maps of
/// labels, anything optional) are taken over as a whole.
fn presume(written: &mut Value, built_in: &Value, presumed: &Value) {
    let (Value::Object(written), Value::Object(presumed)) = (written, presumed) else { return };
    for (field, value) in presumed {
        let default = &built_in[field];
        match written.get_mut(field) {
            Some(below) if default.is_object() && value.is_object() => presume(below, default, value),
            Some(kept) if kept != default => {}
            _ => {
                written.insert(field.clone(), value.clone());
            }
        }
    }
}

/// The first field of `asked` that reading it as a spec has lost.
fn unknown(asked: &Value, known: &Value) -> Option<String> {
    let (Value::Object(asked), Value::Object(known)) = (asked, known) else { return None };
    asked.iter().find_map(|(field, value)| match known.get(field) {
        // An empty list or map is the same as none.
        None if value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty) =>
        {
            None
        }
        None if value.is_null() => None,
        None => Some(field.clone()),
        Some(below) => unknown(value, below).map(|path| format!("{field}.{path}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Object;

    fn installation(defaults: Value) -> Installation {
        Installation::new(defaults, true, Tenancy::default()).unwrap()
    }

    fn spec(value: Value) -> GatewayFleetSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_field_left_at_its_built_in_default_takes_the_fleet_default() {
        let defaults = json!({
            "replicas": 3,
            "resources": { "requests": { "cpu": "1m", "memory": "16Mi" } },
            "template": { "labels": { "a": "platform" }, "nodeSelector": { "pool": "gw" } },
            "tls": { "secretName": "hedgerow-tls" },
        });
        let written = json!({
            "resources": { "requests": { "cpu": "500m" } },
            "template": { "labels": { "b": "team" } },
        });
        let expected = json!({
            "replicas": 3,
            "resources": { "requests": { "cpu": "500m", "memory": "16Mi" } },
            "template": { "labels": { "b": "team" }, "nodeSelector": { "pool": "gw" } },
            "tls": { "secretName": "hedgerow-tls" },
        });
        let installation = installation(defaults);
        assert_eq!(installation.effective(&spec(written)), spec(expected));
        assert_eq!(installation.effective(&spec(json!({ "replicas": 5 }))).replicas, 5);
    }

    #[test]
    fn an_installation_that_presumes_nothing_changes_nothing() {
        let written = spec(json!({ "replicas": 9, "egress": { "noProxy": [".svc"] } }));
        for installation in [installation(Value::Null), installation(json!({})), Installation::permissive()] {
            assert_eq!(installation.effective(&written), written);
        }
    }

    #[test]
    fn forbidden_hedging_wins_over_every_fleet_and_over_none() {
        let forbidding =
            Installation::new(json!({ "hedging": "Allowed" }), false, Tenancy::default()).unwrap();
        let fleet = Object::local(Kind::GatewayFleet, "n", "f", spec(json!({ "hedging": "Allowed" })));
        for settings in [Some(fleet), None] {
            let governed = forbidding.govern(Snapshot { settings, ..Snapshot::default() });
            assert_eq!(governed.spec().hedging, Hedging::Forbidden);
        }
    }

    #[test]
    fn defaults_that_no_fleet_could_have_are_refused_with_the_field() {
        for (defaults, part) in [
            (json!({ "replica": 3 }), "fleetDefaults.replica "),
            (json!({ "resources": { "request": { "cpu": "1" } } }), "resources.request "),
            (json!({ "replicas": "3" }), "invalid type"),
            (json!([]), "not a map"),
            (json!({ "autoscaling": { "min": 9, "max": 3 } }), "autoscaling"),
        ] {
            let error = Installation::new(defaults.clone(), true, Tenancy::default()).unwrap_err();
            assert!(error.to_string().contains(part), "{defaults}: {error}");
        }
    }
}
