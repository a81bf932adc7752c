//! Requests of operators that were denied for want of a right, or by the chart's own admission policies.
//!
//! Not counted: requests after the rights were taken away. `helm uninstall` deletes Deployment and bindings within a
//! moment, and no order of helm makes it wait for the pods to end in between; so the operator goes on without rights for as
//! long as its pod lives. The same holds where a namespace with a Role in it is deleted. The log says when: a binding or Role of the
//! account is deleted there, until one is created again.

use std::collections::{BTreeMap, BTreeSet};

use hedgerow_tests::audit::Entry;

/// Every such request, in the order of the log.
pub(crate) fn denied<'a>(log: &'a [Entry], operators: &BTreeSet<String>) -> Vec<&'a Entry> {
    let mut taken: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    let mut denied = Vec::new();
    let mut ordered: Vec<&Entry> = log.iter().collect();
    // A deletion counts from when it was asked for: others see its effect before its answer.
    ordered.sort_by_key(|entry| entry.received);
    for entry in ordered {
        if entry.group == "rbac.authorization.k8s.io" && entry.code < 400 {
            let place = (entry.namespace.as_str(), entry.name.trim_end_matches("-lease"));
            match entry.verb.as_str() {
                "delete" | "deletecollection" => taken.insert(place, true),
                "create" | "patch" | "update" => taken.insert(place, false),
                _ => None,
            };
        }
        if operators.contains(&entry.user) && is_denied(entry) && !is_taken(&taken, entry) {
            denied.push(entry);
        }
    }
    denied
}

fn is_denied(entry: &Entry) -> bool {
    let by_policy = entry.message.contains("ValidatingAdmissionPolicy")
        && ["-operator-writes'", "-pod-patches'"].iter().any(|policy| entry.message.contains(policy));
    !entry.authorised || by_policy
}

/// Whether the account had rights where it asked, and does not have them any more.
fn is_taken(taken: &BTreeMap<(&str, &str), bool>, entry: &Entry) -> bool {
    let account = entry.user.rsplit(':').next().unwrap_or_default();
    let at = |namespace: &str, name: &str| taken.get(&(namespace, name)).copied().unwrap_or(false);
    // With the whole namespace, a deletion has no name.
    at(&entry.namespace, account) || at("", account) || at(&entry.namespace, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATOR: &str = "system:serviceaccount:s:hedgerow";

    fn entry(
        second: i64,
        user: &str,
        verb: &str,
        [group, resource, namespace, name]: [&str; 4],
        authorised: bool,
    ) -> Entry {
        let at = jiff::Timestamp::from_second(second).unwrap();
        Entry {
            user: user.into(),
            impersonates: false,
            agent: "hedgerow/0.1.0".into(),
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
            code: if authorised { 200 } else { 403 },
            reason: String::new(),
            message: String::new(),
            authorised,
            received: at,
            answered: at,
        }
    }

    #[test]
    fn a_denial_counts_unless_the_right_was_taken_away_before() {
        const RBAC: &str = "rbac.authorization.k8s.io";
        let operators = BTreeSet::from([OPERATOR.to_owned()]);
        let asks = |second, namespace| entry(second, OPERATOR, "list", ["", "pods", namespace, ""], false);
        let rights = |second, verb, namespace, name| {
            entry(second, "admin", verb, [RBAC, "rolebindings", namespace, name], true)
        };
        let seconds = |log: &[Entry]| -> Vec<i64> {
            denied(log, &operators).iter().map(|entry| entry.received.as_second()).collect()
        };
        assert_eq!(seconds(&[asks(1, "a")]), [1]);
        assert_eq!(
            seconds(&[asks(1, "a"), rights(2, "delete", "a", "hedgerow"), asks(3, "a"), asks(3, "b")]),
            [1, 3]
        );
        let again =
            [rights(2, "delete", "a", "hedgerow"), rights(4, "create", "a", "hedgerow"), asks(5, "a")];
        assert_eq!(seconds(&again), [5]);
        assert!(
            seconds(&[rights(2, "deletecollection", "a", ""), asks(3, "a")]).is_empty(),
            "with its namespace"
        );
        assert_eq!(seconds(&[rights(2, "delete", "a", "theirs"), asks(3, "a")]), [3], "somebody else's");
        assert!(seconds(&[entry(1, "bob", "list", ["", "pods", "a", ""], false)]).is_empty());
    }
}
