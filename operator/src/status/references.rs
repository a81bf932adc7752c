//! The condition `ResolvedRefs`: whether pods hold what an object refers to, as they say themselves.
//!
//! Inputs: references, and the pods. Output: the first thing that is missing or unusable, with the pods that lack it; nobody
//! else may look into a Secret. Pods that are not ready are asked too where readiness waits for the very thing. A pod that
//! does not mount it yet is not asked: what it lacks may be there, and whoever is told to create it has done so.

use hedgerow_config::{
    State,
    state::{CertificateState, CredentialState},
};
use hedgerow_crds::{
    condition::Reason,
    v1alpha1::{DataRef, GatewayFleetSpec},
};

use super::{
    conditions::{Said, listed, ready_gateways},
    pods::Pods,
};

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Sent in a header.
    Key,
    /// Trusted, from a Secret.
    Authority,
    /// Trusted, from a `ConfigMap`.
    PublicAuthority,
}

impl Use {
    fn needs(self) -> &'static str {
        match self {
            Self::Key => "it has a line break or another control character; write the key as one line",
            Self::Authority | Self::PublicAuthority => {
                "it holds no certificate in PEM form that can be read; write the authorities there"
            }
        }
    }

    /// Kind of the object that has it.
    fn kind(self) -> &'static str {
        match self {
            Self::Key | Self::Authority => "Secret",
            Self::PublicAuthority => "ConfigMap",
        }
    }

    /// What to write where nothing is. Standalone has files in one directory for both kinds.
    fn content(self, place: &DataRef) -> String {
        match self {
            Self::Key => String::new(),
            Self::Authority => " with the certificate authorities in PEM form".to_owned(),
            Self::PublicAuthority => format!(
                " with the certificate authorities in PEM form (standalone: the file secrets/{}/{})",
                place.name, place.key
            ),
        }
    }
}

/// What keeps a credential from being used, the further it got the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    /// No Secret of that name, or one without any key.
    Secret,
    /// The Secret has other keys.
    Key,
    /// The key has no value.
    Value,
    /// The value cannot be used for what it is named for.
    Unusable,
}

impl Lack {
    /// What a pod lacks that says so of the credential; `None` where it holds it.
    fn of(state: &CredentialState, known: &[CredentialState]) -> Option<Self> {
        // A gateway of the version before says only which values are there.
        let other_key = || known.iter().any(|other| other.secret == state.secret && other.present);
        if state.present {
            None
        } else if !state.fingerprint.is_empty() {
            // Only a value that is there has a fingerprint.
            Some(Self::Unusable)
        } else if state.key_found {
            Some(Self::Value)
        } else if state.secret_found || other_key() {
            Some(Self::Key)
        } else {
            Some(Self::Secret)
        }
    }

    fn said(self, place: &DataRef, used: Use, pods: &str) -> Said {
        let (path, content) = (path(place, used), used.content(place));
        let (reason, message) = match self {
            Self::Secret => {
                (Reason::SecretNotFound, format!("{path} is missing or empty in {pods}; create it{content}"))
            }
            Self::Key => (
                Reason::SecretKeyMissing,
                format!("{path}: the {} has no such key in {pods}; add it{content}", used.kind()),
            ),
            Self::Value => {
                (Reason::SecretKeyMissing, format!("{path} is there but empty in {pods}; give it a value"))
            }
            Self::Unusable => {
                (Reason::SecretKeyMissing, format!("{path} is not usable in {pods}: {}", used.needs()))
            }
        };
        Said::no(reason, message)
    }
}

/// Whether the pods hold each of `references`: the first that is not held is said, or that none is missing.
pub(super) fn resolved(references: &[(DataRef, Use)], pods: &Pods<'_>) -> Said {
    let mut said = Said::yes(Reason::ResolvedRefs, "no credential is referenced");
    for (place, used) in references {
        said = one(place, *used, pods);
        if said.reason != Reason::ResolvedRefs {
            break;
        }
    }
    said
}

/// Whether the pods hold one value, as they say themselves. Where they differ, what came furthest is said: the kubelet
/// brings Secrets to one pod after another. A pod that says nothing of it has not taken the object up yet, and is not asked.
fn one(place: &DataRef, used: Use, pods: &Pods<'_>) -> Said {
    let (mut missing, mut furthest, mut ready, mut asked, mut unmounted) = (Vec::new(), None, 0, 0, 0);
    for pod in &pods.members {
        let Some(state) = pod.state.filter(|state| state.ready) else { continue };
        ready += 1;
        let Some(known) = state.credentials.iter().find(|known| names(known, place)) else { continue };
        let lack = Lack::of(known, &state.credentials);
        if lack.is_some() && pods.is_to_mount(pod, &place.name) {
            unmounted += 1;
            continue;
        }
        asked += 1;
        if lack.is_some() {
            missing.push(pod.name.to_owned());
            furthest = furthest.max(lack);
        }
    }
    let unknown = |message: String| Said::unknown(Reason::NoReadyPods, message);
    match furthest {
        _ if asked == 0 && unmounted > 0 => unknown(format!(
            "no ready gateway mounts {} yet: pods are replaced for that, one fleet after another",
            path(place, used)
        )),
        _ if ready > 0 && asked == 0 => {
            unknown("no gateway has taken the route up yet, so none has looked".to_owned())
        }
        _ if asked == 0 => unknown("no gateway is ready to say whether the credential is there".to_owned()),
        Some(lack) => lack.said(place, used, &listed(&missing)),
        None => Said::yes(
            Reason::ResolvedRefs,
            format!("{} is there in {}", path(place, used), ready_gateways(asked)),
        ),
    }
}

/// What a pod says of a reference that it holds.
pub(super) fn held<'a>(state: &'a State, place: &DataRef) -> Option<&'a CredentialState> {
    state.credentials.iter().find(|known| names(known, place) && known.present)
}

fn names(known: &CredentialState, place: &DataRef) -> bool {
    known.secret == *place.name && known.key == *place.key
}

fn path(place: &DataRef, used: Use) -> String {
    format!("{}s/{}/{}", used.kind().to_lowercase(), place.name, place.key)
}

/// Whether the pods hold what a fleet refers to for itself; `None` = it refers to nothing.
pub(super) fn of_fleet(spec: &GatewayFleetSpec, pods: &Pods<'_>) -> Option<Said> {
    let authorities = spec.egress.as_ref().and_then(|egress| egress.ca_config_map.as_ref()).map(|name| {
        let place = DataRef { name: name.clone(), key: hedgerow_config::settings::AUTHORITIES_KEY.into() };
        resolved(&[(place, Use::PublicAuthority)], pods)
    });
    let certificate = spec.tls.as_ref().map(|tls| certificate(&tls.secret_name, pods));
    match (certificate, authorities) {
        (Some(good), Some(bad)) if good.reason == Reason::ResolvedRefs && bad.reason != good.reason => {
            Some(bad)
        }
        (certificate, authorities) => certificate.or(authorities),
    }
}

/// Whether the pods hold the certificate of the traffic port: those that are not ready may be waiting for it.
fn certificate(secret: &str, pods: &Pods<'_>) -> Said {
    let reports = reports(secret, pods);
    let lacking: Vec<_> = reports.iter().filter(|(_, report)| !report.missing.is_empty()).collect();
    let names: Vec<_> = lacking.iter().map(|(pod, _)| (*pod).to_owned()).collect();
    match lacking.first().map(|(_, report)| *report) {
        None if reports.is_empty() => {
            Said::unknown(Reason::NoReadyPods, "no gateway can say whether the certificate is there")
        }
        None => {
            let served = reports.iter().map(|(_, report)| report.served.as_str());
            let served = served.max().filter(|served| !served.is_empty()).unwrap_or("none yet");
            let message = format!("secrets/{secret} is there; certificate served: {served}");
            Said::yes(Reason::ResolvedRefs, message)
        }
        Some(report) => {
            let (reason, what) = match report.missing.as_slice() {
                [key] => (Reason::SecretKeyMissing, format!("the Secret has no {key}")),
                _ => (Reason::SecretNotFound, "it is missing or empty".to_owned()),
            };
            let what = format!(
                "secrets/{secret}: {what} in {}; create it as type kubernetes.io/tls",
                listed(&names)
            );
            Said::no(reason, format!("{what}; {}", still(report)))
        }
    }
}

/// A certificate that is there and that pods refuse.
pub(super) fn refused_certificate(spec: &GatewayFleetSpec, pods: &Pods<'_>) -> Option<Said> {
    let secret = spec.tls.as_ref()?.secret_name.to_string();
    let (pod, report) = reports(&secret, pods)
        .into_iter()
        .find(|(_, report)| report.missing.is_empty() && !report.problem.is_empty())?;
    let message =
        format!("{pod} refused the certificate in secrets/{secret}: {}; {}", report.problem, still(report));
    Some(Said::no(Reason::Rejected, message))
}

fn reports<'a>(secret: &str, pods: &Pods<'a>) -> Vec<(&'a str, &'a CertificateState)> {
    pods.members
        .iter()
        .filter(|pod| !pods.is_to_mount(pod, secret))
        .filter_map(|pod| Some((pod.name, pod.state?.certificate.as_ref()?)))
        .filter(|(_, report)| report.secret == secret)
        .collect()
}

fn still(report: &CertificateState) -> String {
    if report.served.is_empty() {
        "no connection is encrypted until then".to_owned()
    } else {
        format!("the one from before is served on ({})", report.served)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hedgerow_crds::condition::ConditionStatus;
    use hedgerow_policy::time::Moment;
    use serde_json::json;

    use super::{
        super::pods::{Pod, Roll},
        *,
    };
    use crate::domain::guardrail::fixture;

    fn spec() -> GatewayFleetSpec {
        let text = json!({ "tls": { "secretName": "cert" }, "egress": { "caConfigMap": "corporate" } });
        serde_json::from_value(text).unwrap()
    }

    /// A pod with a certificate report and what it says of the further authorities.
    fn pod(report: &CertificateState, ready: bool, authorities: (bool, &str)) -> State {
        let credentials = vec![CredentialState {
            secret: "corporate".into(),
            key: "ca.crt".into(),
            present: authorities.0,
            secret_found: !authorities.1.is_empty(),
            key_found: !authorities.1.is_empty(),
            fingerprint: authorities.1.into(),
            since_unix_ms: 1,
        }];
        State {
            ready,
            credentials,
            certificate: Some(CertificateState { secret: "cert".into(), ..report.clone() }),
            ..fixture::state("p", Vec::new())
        }
    }

    fn of<'a>(states: &'a [State]) -> Pods<'a> {
        let names = ["default-0", "default-1"];
        let member = |(state, name): (&'a State, &'a str)| Pod {
            name,
            state: Some(state),
            gone: false,
            since: Moment::ZERO,
            mounts: None,
        };
        Pods { members: states.iter().zip(names).map(member).collect(), ..Pods::default() }
    }

    fn served() -> CertificateState {
        CertificateState { served: "0a1b".into(), since_unix_ms: 1, ..CertificateState::default() }
    }

    fn missing(keys: &[&str], served: &str) -> CertificateState {
        let missing: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let problem = format!("{} missing or empty", missing.join(" and "));
        CertificateState { missing, problem, served: served.into(), ..CertificateState::default() }
    }

    const HELD: (bool, &str) = (true, "f");

    #[test]
    fn a_fleet_says_what_of_its_certificate_and_authorities_its_pods_lack() {
        let cases: [(&str, Vec<State>, ConditionStatus, Reason, &str); 6] = [
            (
                "good",
                vec![pod(&served(), true, HELD)],
                ConditionStatus::True,
                Reason::ResolvedRefs,
                "served: 0a1b",
            ),
            (
                "none yet, so not ready",
                vec![pod(&missing(&["tls.crt", "tls.key"], ""), false, HELD)],
                ConditionStatus::False,
                Reason::SecretNotFound,
                "missing or empty in default-0; create it as type kubernetes.io/tls; no connection is encrypted",
            ),
            (
                "one lost its key",
                vec![pod(&served(), true, HELD), pod(&missing(&["tls.key"], "0a1b"), true, HELD)],
                ConditionStatus::False,
                Reason::SecretKeyMissing,
                "no tls.key in default-1; create it as type kubernetes.io/tls; the one from before is served on (0a1b)",
            ),
            (
                "no authorities",
                vec![pod(&served(), true, (false, ""))],
                ConditionStatus::False,
                Reason::SecretNotFound,
                "configmaps/corporate/ca.crt is missing or empty in default-0; create it with the certificate authorities",
            ),
            (
                "authorities that are none",
                vec![pod(&served(), true, (false, "f"))],
                ConditionStatus::False,
                Reason::SecretKeyMissing,
                "holds no certificate in PEM form",
            ),
            ("nobody says", vec![], ConditionStatus::Unknown, Reason::NoReadyPods, "no gateway can say"),
        ];
        for (name, states, status, reason, message) in cases {
            let said = of_fleet(&spec(), &of(&states)).unwrap();
            assert_eq!((said.status, said.reason), (status, reason), "{name}: {}", said.message);
            assert!(said.message.contains(message), "{name}: {}", said.message);
        }
        assert!(of_fleet(&GatewayFleetSpec::default(), &of(&[])).is_none(), "it refers to nothing");
    }

    /// What is said of `corporate/ca.crt` for a use, from pods that found as much of it, of which the second mounts it or not.
    fn of_authority(
        used: Use,
        found: [(bool, bool); 2],
        rolls: bool,
        second_mounts: bool,
    ) -> (Reason, String) {
        let mut states = [pod(&served(), true, (false, "")), pod(&served(), true, (false, ""))];
        for (state, (secret_found, key_found)) in states.iter_mut().zip(found) {
            let known = &mut state.credentials[0];
            (known.secret_found, known.key_found) = (secret_found, key_found);
            known.present = key_found;
        }
        let none = BTreeSet::new();
        let mut pods = of(&states);
        pods.roll = rolls.then_some(Roll::Waits);
        pods.members[1].mounts = (!second_mounts).then_some(&none);
        let place = DataRef { name: "corporate".into(), key: "ca.crt".into() };
        let said = resolved(&[(place, used)], &pods);
        (said.reason, said.message)
    }

    #[test]
    fn a_missing_authority_is_named_by_the_kind_of_object_that_has_to_be_created() {
        const NOTHING: [(bool, bool); 2] = [(false, false); 2];
        for (used, found, reason, words) in [
            (
                Use::PublicAuthority,
                NOTHING,
                Reason::SecretNotFound,
                "configmaps/corporate/ca.crt is missing or empty in default-0 and default-1; create it with the \
                 certificate authorities in PEM form (standalone: the file secrets/corporate/ca.crt)",
            ),
            (
                Use::Authority,
                NOTHING,
                Reason::SecretNotFound,
                "secrets/corporate/ca.crt is missing or empty in default-0 and default-1; create it with the certificate \
                 authorities in PEM form",
            ),
            (
                Use::PublicAuthority,
                [(true, false), (true, true)],
                Reason::SecretKeyMissing,
                "configmaps/corporate/ca.crt: the ConfigMap has no such key in default-0; add it with the certificate \
                 authorities in PEM form (standalone: the file secrets/corporate/ca.crt)",
            ),
            (
                Use::PublicAuthority,
                [(true, true); 2],
                Reason::ResolvedRefs,
                "configmaps/corporate/ca.crt is there in 2 ready gateways",
            ),
        ] {
            assert_eq!(of_authority(used, found, false, true), (reason, words.to_owned()), "{used:?}");
        }
    }

    #[test]
    fn a_pod_that_another_one_replaces_to_mount_a_name_is_not_asked_for_it() {
        let held = [(true, true), (false, false)];
        let (reason, message) = of_authority(Use::Key, held, true, false);
        assert_eq!(reason, Reason::ResolvedRefs, "{message}");
        let (reason, message) = of_authority(Use::Key, held, false, false);
        assert_eq!(reason, Reason::SecretNotFound, "nothing replaces it: {message}");
        let (reason, message) = of_authority(Use::Key, [(false, false); 2], true, false);
        assert!(reason == Reason::SecretNotFound && message.contains("in default-0;"), "{message}");

        let (states, none) = ([pod(&missing(&["tls.key"], ""), true, (false, ""))], BTreeSet::new());
        let mut pods = of(&states);
        (pods.roll, pods.members[0].mounts) = (Some(Roll::UnderWay), Some(&none));
        let said = of_fleet(&spec(), &pods).unwrap();
        assert_eq!(
            (said.status, said.reason),
            (ConditionStatus::Unknown, Reason::NoReadyPods),
            "{}",
            said.message
        );
        let place = DataRef { name: "corporate".into(), key: "ca.crt".into() };
        let said = resolved(&[(place, Use::PublicAuthority)], &pods);
        assert_eq!(said.status, ConditionStatus::Unknown);
        assert!(
            said.message.contains("no ready gateway mounts configmaps/corporate/ca.crt yet"),
            "{}",
            said.message
        );
    }

    #[test]
    fn a_certificate_that_is_there_and_broken_is_refused_and_one_that_is_missing_is_not() {
        let broken = CertificateState { problem: "tls.key is not the key".into(), ..served() };
        let said = refused_certificate(&spec(), &of(&[pod(&served(), true, HELD), pod(&broken, true, HELD)]));
        let said = said.unwrap();
        assert_eq!((said.status, said.reason), (ConditionStatus::False, Reason::Rejected));
        assert_eq!(
            said.message,
            "default-1 refused the certificate in secrets/cert: tls.key is not the key; the one from before is served on \
             (0a1b)"
        );
        for fine in [served(), missing(&["tls.key"], "")] {
            assert!(refused_certificate(&spec(), &of(&[pod(&fine, true, HELD)])).is_none());
        }
    }
}
