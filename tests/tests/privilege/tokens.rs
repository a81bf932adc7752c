//! Tokens of gateways: the kubelet asks for one when a pod mounts it, and whoever has it says so with each request.

use std::collections::BTreeSet;

use hedgerow_tests::audit::Entry;

/// Accounts that operators made, as the API server calls them.
pub(crate) fn accounts_of_gateways(log: &[Entry], operators: &BTreeSet<String>) -> BTreeSet<String> {
    log.iter()
        .filter(|entry| {
            operators.contains(&entry.user) && entry.resource == "serviceaccounts" && entry.is_write()
        })
        .map(account)
        .collect()
}

/// Requests for a token of theirs, and requests with one.
pub(crate) fn issued(log: &[Entry], operators: &BTreeSet<String>) -> Vec<String> {
    let gateways = accounts_of_gateways(log, operators);
    let asked =
        |entry: &&Entry| entry.resource == "serviceaccounts/token" && gateways.contains(&account(entry));
    log.iter()
        .filter(|entry| asked(entry) || gateways.contains(&entry.user))
        .map(|entry| format!("{} {} by {}", entry.right(), account(entry), entry.user))
        .collect()
}

fn account(entry: &Entry) -> String {
    format!("system:serviceaccount:{}:{}", entry.namespace, entry.name)
}
