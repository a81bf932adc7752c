//! How far the replacement of a fleet's pods is, as their Deployment says.
//!
//! Pure: a Deployment in, yes or no out. Under way = pods of an earlier template are still there, or the Deployment was not
//! looked at since it was written. Over = every pod has the present template and serves, or Kubernetes has given up
//! (`Progressing=False`, ten minutes without progress by default).

use kube::api::DynamicObject;

/// Whether nobody has to wait for this Deployment any more.
pub(super) fn is_over(deployment: &DynamicObject) -> bool {
    let wanted = deployment.data["spec"]["replicas"].as_i64().unwrap_or(1);
    let count = |field: &str| count(deployment, field);
    let new = count("updatedReplicas") >= wanted && count("replicas") == wanted;
    is_observed(deployment) && (has_failed(deployment) || (new && count("availableReplicas") >= wanted))
}

/// Whether pods are being replaced, or may soon be. A pod that is missing for another reason does not count.
pub(super) fn is_under_way(deployment: &DynamicObject) -> bool {
    !is_observed(deployment) || has_old_pods(deployment)
}

/// Whether pods of an earlier template are still there and Kubernetes goes on replacing them.
pub(super) fn has_old_pods(deployment: &DynamicObject) -> bool {
    count(deployment, "updatedReplicas") < count(deployment, "replicas") && !has_failed(deployment)
}

fn is_observed(deployment: &DynamicObject) -> bool {
    count(deployment, "observedGeneration") >= deployment.metadata.generation.unwrap_or(0)
}

fn has_failed(deployment: &DynamicObject) -> bool {
    let conditions = deployment.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|found| found["type"] == "Progressing" && found["status"] == "False")
}

fn count(deployment: &DynamicObject, field: &str) -> i64 {
    deployment.data["status"][field].as_i64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A Deployment of two pods: (replicas, updated, available), the generation that was looked at of 2, and whether
    /// Kubernetes has given up.
    fn deployment(pods: [i64; 3], observed: i64, failed: bool) -> DynamicObject {
        let [replicas, updated, available] = pods;
        let progressing = json!({ "type": "Progressing", "status": if failed { "False" } else { "True" } });
        let object = json!({
            "metadata": { "generation": 2 },
            "spec": { "replicas": 2 },
            "status": {
                "observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
                "availableReplicas": available, "conditions": [progressing],
            },
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_roll_is_over_when_all_pods_are_new_and_serve_or_when_kubernetes_gave_up() {
        for (what, pods, observed, failed, over, under_way) in [
            ("just written", [2, 2, 2], 1, false, false, true),
            ("one new pod starts", [3, 1, 2], 2, false, false, true),
            ("the last one starts", [2, 2, 1], 2, false, false, false),
            ("done", [2, 2, 2], 2, false, true, false),
            ("no image", [3, 1, 2], 2, true, true, false),
            ("written anew after that", [3, 1, 2], 1, true, false, true),
        ] {
            let deployment = deployment(pods, observed, failed);
            assert_eq!([is_over(&deployment), is_under_way(&deployment)], [over, under_way], "{what}");
        }
    }
}
