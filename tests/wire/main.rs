//! Scripted-bytes cases: bug reports of other gateways as inputs for this one.
//!
//! Why: what breaks a streaming proxy is rarely its logic and mostly bytes at the wrong place, so each case scripts the
//! bytes of one or two providers over plain TCP, lets a plain TCP client ask a real gateway, and holds what the client
//! received, how often each provider was asked and what was booked against the case.
//!
//! Inputs: `<group>.yaml` beside this file, one per group of reports. Outputs: one test per group that lists every case
//! that differs. After each case nothing may be in flight, and no word that was planted in prompts, answers, keys, user ids
//! or tool arguments may be in a log line, a record, `/metrics` or `/state`. To add a case, add it to its group's file.

#[cfg(test)]
mod case;
#[cfg(test)]
mod client;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod http;
#[cfg(test)]
mod neighbours;
#[cfg(test)]
mod plant;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod run;
#[cfg(test)]
mod told;

macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The case files, by group.
        #[cfg(test)]
        const GROUPS: &[(&str, &str)] = &[$((stringify!($name), include_str!(concat!(stringify!($name), ".yaml"))),)*];

        $($(#[$doc])* #[tokio::test]
        async fn $name() {
            run::group(stringify!($name), include_str!(concat!(stringify!($name), ".yaml"))).await;
        })*
    };
}

groups! {
    framing,
    chunks,
    errors_after_200,
    contract,
    truncation,
    cancellation,
    health,
    waits,
    usage,
    race,
    hygiene,
    answers,
}
