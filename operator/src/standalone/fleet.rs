//! One fleet: its compiled files, its gateways, and what is known of them.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hedgerow_config::{
    FleetFile, GatewayConfig, State,
    digest::digest,
    fleet_file::{self, LaneMean},
    gateway,
    state::CohortCounters,
};
use hedgerow_policy::time::Moment;
use tokio::sync::mpsc;

use super::{
    port::Reserved,
    process::{Admin, Event, Gateway, GatewayCommand, Launch},
    records::Records,
    status_file::replace,
};
use crate::{
    domain::{
        CohortKey, Latches, Snapshot, Verdict, compile,
        counting::Counting as _,
        guardrail::{Outcome, Standing},
    },
    scrape::{Recent, Store, Trail},
    status::{Pod, Pods},
};

/// Pause between two heartbeats in `fleet.json`; the shortest `blind.after` is 10 s.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Seconds of a day; days are UTC.
const DAY: u64 = 86_400;
/// Given to a gateway beyond its own drain time before it is killed.
const DRAIN_SLACK: Duration = Duration::from_secs(5);

/// A fleet that runs.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) name: String,
    pub(super) snapshot: Snapshot,
    pub(super) verdicts: Vec<Verdict>,
    /// What the gateways should run; `None` as long as nothing ever compiled.
    pub(super) config: Option<GatewayConfig>,
    pub(super) digest: String,
    pub(super) members: Vec<Member>,
    pub(super) store: Store,
    pub(super) recent: Recent,
    pub(super) trail: Trail,
    pub(super) standings: BTreeMap<CohortKey, Standing>,
    pub(super) outcomes: BTreeMap<CohortKey, Outcome>,
    /// UTC day, and where each cohort's counters were when it began.
    day: (u64, BTreeMap<String, CohortCounters>),
    reserved: Reserved,
    directory: PathBuf,
    heartbeat: Option<(Moment, u32)>,
}

/// One gateway process.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) uid: String,
    pub(super) admin: Option<SocketAddr>,
    pub(super) restarts: u32,
    /// Why it last died, until it can be read again.
    pub(super) failure: Option<String>,
    /// When its present life was first read.
    pub(super) since: Moment,
    started_unix_ms: u64,
    gateway: Gateway,
}

/// How the gateways of a fleet are started.
#[derive(Clone, Debug)]
pub(super) struct Start<'a> {
    pub(super) command: &'a GatewayCommand,
    pub(super) records: &'a Records,
    pub(super) secrets: &'a Path,
    pub(super) admins: Vec<Admin>,
    pub(super) events: &'a mpsc::UnboundedSender<Event>,
}

impl Fleet {
    /// A fleet without gateways and without files yet.
    pub(super) fn new(name: &str, run_dir: &Path, reserved: Reserved, now: Moment) -> io::Result<Self> {
        let directory = run_dir.join(name);
        fs::create_dir_all(&directory)?;
        Ok(Self {
            name: name.to_owned(),
            snapshot: Snapshot::default(),
            verdicts: Vec::new(),
            config: None,
            digest: String::new(),
            members: Vec::new(),
            store: Store::new(now),
            recent: Recent::default(),
            trail: Trail::default(),
            standings: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            day: (0, BTreeMap::new()),
            reserved,
            directory,
            heartbeat: None,
        })
    }

    /// Where clients connect.
    pub(super) fn address(&self) -> SocketAddr {
        self.reserved.address()
    }

    /// The same as a URL. An address that means "all of this machine" is no address to connect to.
    pub(super) fn base_url(&self) -> String {
        let mut address = self.address();
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() {
                std::net::Ipv4Addr::LOCALHOST.into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        format!("http://{address}")
    }

    /// Compiles the snapshot with the decisions in force and writes the result where it differs. A fleet of which nothing
    /// can be used keeps what it runs.
    pub(super) fn compile(&mut self) -> io::Result<()> {
        let latches: Latches =
            self.standings.iter().map(|(key, standing)| (key.clone(), standing.latch.clone())).collect();
        let mut compiled = compile(&self.snapshot, &latches);
        self.verdicts = compiled.verdicts;
        if !compiled.usable {
            return Ok(());
        }
        // Nothing has to learn that a local process goes away.
        compiled.config.settings.drain.endpoint_delay_ms = 0;
        let bytes = compiled.config.write();
        let new = digest(&bytes);
        if new != self.digest {
            replace(&self.directory.join(gateway::FILE), &bytes)?;
            self.digest = new;
        }
        self.config = Some(compiled.config);
        Ok(())
    }

    /// Starts the gateways. `fleet.json` has to be there first, else they would wait for a heartbeat.
    pub(super) fn start(&mut self, start: &Start<'_>) {
        for (index, admin) in start.admins.iter().enumerate() {
            let uid = format!("{}-{index}", self.name);
            let launch = Launch {
                command: start.command.clone(),
                uid: uid.clone(),
                config: self.directory.clone(),
                secrets: start.secrets.to_owned(),
                listen: self.address(),
                admin: *admin,
                records: start.records.clone(),
            };
            self.members.push(Member {
                uid,
                admin: None,
                restarts: 0,
                failure: None,
                since: Moment::ZERO,
                started_unix_ms: 0,
                gateway: Gateway::start(launch, start.events.clone()),
            });
        }
    }

    /// Drains and ends the gateways.
    pub(super) async fn stop(&mut self) {
        let drain = self.config.as_ref().map_or(0, |config| config.settings.drain.timeout_ms);
        let within = Duration::from_millis(drain) + DRAIN_SLACK;
        let stopping = self.members.drain(..).map(|member| member.gateway.stop(within));
        futures_util::future::join_all(stopping).await;
    }

    /// Takes in one reading of a gateway.
    pub(super) fn observe(&mut self, uid: &str, state: State, now: Moment) {
        if let Some(member) = self.members.iter_mut().find(|member| member.uid == uid) {
            if member.started_unix_ms != state.pod.started_unix_ms {
                member.started_unix_ms = state.pod.started_unix_ms;
                member.since = now;
            }
            member.failure = None;
        }
        self.store.observe(state, now);
    }

    /// Brings the figures up to date after a round of readings.
    pub(super) fn digest_readings(&mut self, now: Moment) {
        self.recent.observe(self.store.counted(), self.store.in_flight(now), now);
        self.trail.observe(self.store.counted(), now);
        let today = now.as_secs() / DAY;
        if self.day.0 != today {
            let cohorts = self.store.counted().cohorts.iter();
            self.day = (today, cohorts.map(|(name, cohort)| (name.clone(), cohort.total.clone())).collect());
        }
    }

    /// What happened to a cohort since midnight UTC, or since the start if that was later.
    pub(super) fn today(&self, cohort: &str) -> CohortCounters {
        let Some(now) = self.store.counted().cohorts.get(cohort) else { return CohortCounters::default() };
        let base = self.day.1.get(cohort);
        base.and_then(|base| now.total.minus(base)).unwrap_or_else(|| now.total.clone())
    }

    /// The gateways as the status sees them.
    pub(super) fn pods(&self, now: Moment) -> Pods<'_> {
        let present: BTreeMap<&str, &State> =
            self.store.present(now).map(|life| (life.state.pod.uid.as_str(), &life.state)).collect();
        let members = self
            .members
            .iter()
            .map(|member| Pod {
                name: &member.uid,
                state: present.get(member.uid.as_str()).copied().filter(|_| member.failure.is_none()),
                gone: member.failure.is_some(),
                since: member.since,
            })
            .collect();
        Pods { members, digest: &self.digest, now }
    }

    /// Whether every gateway takes traffic with the configuration that it should run.
    pub(super) fn settled(&self, now: Moment) -> bool {
        let pods = self.pods(now);
        !pods.members.is_empty() && pods.programmed() == pods.members.len()
    }

    /// Writes `fleet.json` when the number of ready gateways changed, else as a heartbeat.
    pub(super) fn write_fleet_file(&mut self, now: Moment) -> io::Result<()> {
        let ready = u32::try_from(self.pods(now).ready().count()).unwrap_or(u32::MAX).max(1);
        if self.heartbeat.is_some_and(|(at, was)| was == ready && now.since(at) < HEARTBEAT) {
            return Ok(());
        }
        let file = FleetFile {
            schema: fleet_file::SCHEMA.to_owned(),
            ready_replicas: ready,
            heartbeat_unix_ms: now.as_millis(),
            lanes: self.lane_means(now),
            cells: Vec::new(),
        };
        replace(&self.directory.join(fleet_file::FILE), &file.write())?;
        self.heartbeat = Some((now, ready));
        Ok(())
    }

    fn lane_means(&self, now: Moment) -> BTreeMap<String, LaneMean> {
        let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for lane in self.store.present(now).flat_map(|life| &life.state.lanes) {
            let sum = sums.entry(lane.lane.clone()).or_default();
            *sum = (sum.0 + u64::from(lane.limit), sum.1 + u64::from(lane.baseline_per_mille), sum.2 + 1);
        }
        let mean = |sum: u64, pods: u64| u32::try_from(sum / pods.max(1)).unwrap_or(u32::MAX);
        sums.into_iter()
            .map(|(lane, (limit, baseline, pods))| {
                let mean = LaneMean {
                    limit: mean(limit, pods),
                    baseline_per_mille: mean(baseline, pods),
                    at_unix_ms: now.as_millis(),
                };
                (lane, mean)
            })
            .collect()
    }
}
