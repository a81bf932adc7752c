//! Another version of the gateways: their image under another tag, asked for by whoever installs them and by a fleet's
//! author. Nobody who streams notices.

use std::{collections::BTreeSet, process::Command, time::Instant};

use serde_json::Value;

use crate::{
    api::root,
    gateways_roll::{replaced, uids},
    installation::Installation,
    load::{Load, busy_team},
    right::right_again,
    team::Team,
};

const IMAGE: &str = "docker.io/library/hedgerow-gateway";
const INSTALLED: &str = "0.1.0-installed";
const ASKED: &str = "0.1.0-asked";

#[tokio::test]
async fn gateways_roll_for_another_tag_of_their_image_without_cutting_a_stream() {
    let team = Team::new("version");
    let operator = Installation::of(&team, 1, &["fleetDefaults.drain.endpointDelay=10s"]);
    for tag in [INSTALLED, ASKED] {
        let (from, to) = (format!("{IMAGE}:0.1.0"), format!("{IMAGE}:{tag}"));
        assert!(Command::new(root().join("tests/cluster/tag")).args([from, to]).status().unwrap().success());
    }
    busy_team(&team, "default").await;
    let load = Load::start(&team, "default").await;
    let first = uids(&team).await;

    operator.upgrade(&[&format!("gatewayImage.tag={INSTALLED}")]);
    let second = replaced(&team, first).await;
    println!("another tag of the installation: right after {:.1?}", right_again(&team, Instant::now()).await);
    assert_eq!(images(&team).await, BTreeSet::from([format!("hedgerow-gateway:{INSTALLED}")]));

    let patch = format!(r#"{{"spec":{{"version":"{ASKED}"}}}}"#);
    team.kubectl(&["patch", "gf", "default", "--type=merge", "--patch", &patch]);
    let third = replaced(&team, second).await;
    println!("another version of a fleet: right after {:.1?}", right_again(&team, Instant::now()).await);
    assert_eq!(images(&team).await, BTreeSet::from([format!("hedgerow-gateway:{ASKED}")]));

    // What pods run is what they say themselves, whatever the tag is called.
    let fleet = team.ours("gatewayfleets", "default").await.unwrap();
    assert_eq!(fleet["status"]["version"], "0.1.0");
    assert_eq!(fleet["status"]["summary"]["version"], "0.1.0");
    load.turn_over().await;
    assert_eq!(uids(&team).await, third, "and no further roll");
    load.was_unharmed("two other tags").await;
}

/// Images of the pods that are to stay.
async fn images(team: &Team) -> BTreeSet<String> {
    let mut images = BTreeSet::new();
    for (name, ..) in team.pods().await {
        let pod: Value = team.get("v1", "pods", &name).await.unwrap();
        images.insert(pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned());
    }
    images
}
