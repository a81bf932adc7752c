//! One fleet: its compiled files, its gateways, and what is known of them.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hedgerow_config::{State, cohort::Mode, fleet_file, gateway};
use hedgerow_crds::condition::Reason;
use hedgerow_policy::time::Moment;
use tokio::sync::mpsc;

use super::{
    observed::Observed,
    port::Reserved,
    process::{Admin, Event, Gateway, GatewayCommand, Launch},
    records::Records,
    status_file::replace,
};
use crate::{
    fleet::{
        self, Memory,
        history::{Keeper, Saved},
    },
    status::{Pods, Trouble},
};

/// Pause between two heartbeats in `fleet.json`; the shortest `blind.after` is 10 s.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Shortest pause between two writes of the history; it is also written at the end.
const HISTORY_EVERY: Duration = Duration::from_mins(1);
/// Name of its file.
const HISTORY: &str = "history.json.gz";
/// Given to a gateway beyond its own drain time before it is killed.
const DRAIN_SLACK: Duration = Duration::from_secs(5);

/// A fleet that runs.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) memory: Memory,
    pub(super) members: Vec<Member>,
    pub(super) observed: Observed,
    reserved: Reserved,
    directory: PathBuf,
    heartbeat: Option<(Moment, u32)>,
    history: Keeper,
    /// Its gateways are being ended, for good.
    ended: bool,
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
            memory: Memory::new(name, now),
            members: Vec::new(),
            observed: Observed::default(),
            reserved,
            directory,
            heartbeat: None,
            history: Keeper::new(HISTORY_EVERY),
            ended: false,
        })
    }

    /// Goes on from the history of an earlier run.
    pub(super) fn resume_history(&mut self, now: Moment) -> Result<(), String> {
        let path = self.directory.join(HISTORY);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let saved = Saved::read(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        self.memory.history.restore(saved.clone(), now);
        self.history.resume(bytes, saved, now);
        Ok(())
    }

    /// Writes the history when it is due, or at `the_end` whatever the time.
    pub(super) fn write_history(&mut self, the_end: bool, now: Moment) -> io::Result<()> {
        if (the_end || self.history.is_due(now)) && self.history.take(self.memory.history.save(), now) {
            replace(&self.directory.join(HISTORY), self.history.bytes().unwrap_or_default())?;
        }
        Ok(())
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
        let scheme = if self.memory.snapshot.spec().tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// Compiles the snapshot with the decisions in force and writes the result where it differs. A fleet of which nothing
    /// can be used keeps what it runs.
    pub(super) fn compile(&mut self) -> io::Result<()> {
        // Nothing has to learn that a local process goes away.
        let fresh = self.memory.compile(|config| config.settings.drain.endpoint_delay_ms = 0);
        if let Some(fresh) = fresh {
            replace(&self.directory.join(gateway::FILE), &fresh.bytes)?;
            self.memory.digest = fresh.digest;
        }
        Ok(())
    }

    /// Starts the gateways. `fleet.json` has to be there first, else they would wait for a heartbeat.
    pub(super) fn start(&mut self, start: &Start<'_>) {
        for (index, admin) in start.admins.iter().enumerate() {
            let uid = format!("{}-{index}", self.memory.name);
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

    /// How long its gateways let running requests finish when they are ended.
    pub(super) fn drain(&self) -> Duration {
        let millis = self.memory.config.as_ref().map_or(0, |config| config.settings.drain.timeout_ms);
        Duration::from_millis(millis)
    }

    /// User actions that run, as last read.
    pub(super) fn in_flight(&self, now: Moment) -> u64 {
        self.memory.store.present(now).map(|life| life.state.in_flight.actions).sum()
    }

    /// From now on its objects are in force nowhere, although gateways may still finish what runs.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Drains and ends the gateways.
    pub(super) async fn stop(&mut self) {
        let within = self.drain() + DRAIN_SLACK;
        let stopping = self.members.drain(..).map(|member| member.gateway.stop(within));
        futures_util::future::join_all(stopping).await;
    }

    /// Brings the figures up to date after a round of readings.
    pub(super) fn digest_readings(&mut self, now: Moment) {
        self.memory.digest_readings(now);
        let cohorts = self.memory.config.as_ref().map_or(&[][..], |config| &config.cohorts);
        let observes =
            |name: &str| cohorts.iter().any(|cohort| cohort.name == name && cohort.mode == Mode::Observe);
        self.observed.take(&self.memory.store.counted().cohorts, observes);
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
        self.memory.store.observe(state, now);
    }

    /// The gateways as the status sees them.
    pub(super) fn pods(&self, now: Moment) -> Pods<'_> {
        let members = self.members.iter().filter(|_| !self.ended).map(|member| fleet::Member {
            uid: &member.uid,
            name: &member.uid,
            // One that was not read yet is starting: what an earlier process of that name ran says nothing of it.
            gone: member.failure.is_some() || member.since == Moment::ZERO,
            since: member.since,
            mounts: None,
        });
        let trouble = self.ended.then(|| Trouble {
            reason: Reason::NoReadyPods,
            message: "standalone has ended and its gateways with it; start it again".to_owned(),
        });
        Pods { desired: Some(self.members.len()), trouble, ..self.memory.pods(members, now) }
    }

    /// Whether every gateway takes traffic with the configuration that it should run.
    pub(super) fn settled(&self, now: Moment) -> bool {
        let pods = self.pods(now);
        !pods.members.is_empty() && pods.programmed() == pods.members.len()
    }

    /// Writes `fleet.json` when the number of ready gateways changed, else as a heartbeat.
    pub(super) fn write_fleet_file(&mut self, now: Moment) -> io::Result<()> {
        let file = self.memory.fleet_file(self.pods(now).ready().count(), now);
        let ready = file.ready_replicas;
        if self.heartbeat.is_some_and(|(at, was)| was == ready && now.since(at) < HEARTBEAT) {
            return Ok(());
        }
        replace(&self.directory.join(fleet_file::FILE), &file.write())?;
        self.heartbeat = Some((now, ready));
        Ok(())
    }
}
