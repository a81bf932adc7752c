//! Memory of the operator's processes, as the kernel counts it.
//!
//! Held against the limit is what a process has of its own. The pages of its program are printed with it: how many they are is
//! a matter of the build (a debug build has many times more), and the kernel can drop them at any time.

use std::fs;

use crate::installation::Installation;

/// Most that a process of the operator may hold, in KiB.
const MOST: u64 = 100 * 1024;

/// Prints the memory of every operator, and holds it against the limit.
pub(crate) fn is_bounded(operator: &Installation) {
    let leader = operator.leader();
    let selector = "--selector=app.kubernetes.io/name=hedgerow-operator";
    let columns = "--output=jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{\"\\n\"}{end}";
    let pods = operator.kubectl(&["get", "pods", selector, columns]);
    assert!(!leader.is_empty() && pods.contains(&leader), "{leader} leads, and these are there: {pods}");
    for pod in pods.lines() {
        let (name, uid) = pod.split_once(' ').unwrap();
        let status = status(uid).unwrap_or_else(|| panic!("no process of pod {name}"));
        let figure = |field: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
        };
        let (now, own, peak) = (figure("VmRSS"), figure("RssAnon"), figure("VmHWM"));
        let role = if name == leader { "leader" } else { "standby" };
        println!(
            "memory of the {role}: {} MiB of its own, {} MiB with its program, {} MiB at the peak",
            own >> 10,
            now >> 10,
            peak >> 10
        );
        assert!(own < MOST, "{name} holds {own} KiB");
    }
}

/// `/proc/PID/status` of the operator's process in a pod.
fn status(uid: &str) -> Option<String> {
    let of_the_pod = |folder: &fs::DirEntry| {
        let groups = fs::read_to_string(folder.path().join("cgroup")).unwrap_or_default();
        groups.contains(&format!("pod{uid}"))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten().filter(of_the_pod);
    // The sandbox is a process of the pod, too.
    processes
        .filter_map(|folder| fs::read_to_string(folder.path().join("status")).ok())
        .find(|status| status.starts_with("Name:\thedgerow\n"))
}
