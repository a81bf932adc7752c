//! The loop of standalone: files, gateways, readings, decisions, statuses, configuration, in that order and in one task.
//!
//! It joins the parts and decides nothing itself. Order of writes at a decision: status first, then configuration, so that a
//! restart never knows less than the gateways do.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use hedgerow_crds::{DEFAULT_FLEET, Kind};
use hedgerow_policy::time::Moment;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time,
};

use super::{
    Options, StartError,
    applied::Applied,
    clock::now,
    fleet::{Fleet, Start},
    generation::Generations,
    hold,
    lock::Lock,
    overview,
    port::{self, PortError, Reserved},
    process::{Admin, Event},
    repaired::repaired,
    report::Reporter,
    screen::Terminal,
    source::{Changed, Directory, Reading, SECRETS},
    status_file::StatusFiles,
    view::{Entry, View},
};
use crate::{
    domain::{Objects, Snapshot, figure},
    lint::Finding,
    scrape::Fetcher,
};

/// Decisions kept on the timeline.
const TIMELINE: usize = 500;
/// Pause between two rounds while some gateway is not there yet.
const HURRY: Duration = Duration::from_millis(200);
/// After a change of the files, how soon to look whether it is finished.
const SETTLING: Duration = Duration::from_millis(100);

/// Everything that runs.
pub(super) struct Cycle {
    options: Options,
    directory: Directory,
    generations: Generations,
    applied: Applied,
    /// Objects that are in force although their file has an error now, and that error.
    stale: BTreeMap<(Kind, String), String>,
    reporter: Reporter,
    fetcher: Fetcher,
    fleets: BTreeMap<String, Fleet>,
    /// The fleet that `--listen ADDR` is for.
    main_fleet: Option<String>,
    admins_used: u16,
    events: (mpsc::UnboundedSender<Event>, mpsc::UnboundedReceiver<Event>),
    views: watch::Sender<Arc<View>>,
    screen: Terminal,
    started: Moment,
    timeline: VecDeque<Entry>,
    findings: Vec<Finding>,
    /// What went wrong and still is, by what it is about.
    problems: BTreeMap<String, String>,
    /// Why gateways could not be read.
    unread: BTreeMap<String, String>,
    /// Held until the gateways are ended.
    _lock: Lock,
}

impl Cycle {
    /// Reads the directory, writes the first files and starts the gateways.
    pub(super) fn start(options: Options, views: watch::Sender<Arc<View>>) -> Result<Self, StartError> {
        let mut directory = Directory::new(options.config_dir.clone());
        let changed = directory.read()?;
        let files = StatusFiles::open(&options.config_dir)
            .map_err(|cause| StartError::Unwritable { path: options.config_dir.clone(), cause })?;
        let lock = Lock::take(&options.config_dir)?;
        files
            .disown(now())
            .map_err(|cause| StartError::Unwritable { path: options.config_dir.clone(), cause })?;
        let mut cycle = Self {
            screen: Terminal::new(options.screen),
            directory,
            generations: Generations::default(),
            applied: Applied::default(),
            stale: BTreeMap::new(),
            reporter: Reporter::new(files),
            fetcher: Fetcher::new()?,
            fleets: BTreeMap::new(),
            main_fleet: None,
            admins_used: 0,
            events: mpsc::unbounded_channel(),
            views,
            started: now(),
            timeline: VecDeque::new(),
            findings: Vec::new(),
            problems: BTreeMap::new(),
            unread: BTreeMap::new(),
            _lock: lock,
            options,
        };
        cycle.take(changed)?;
        if cycle.fleets.values().all(|fleet| fleet.memory.config.is_none()) {
            let findings = cycle.findings.iter().map(ToString::to_string).collect();
            return Err(StartError::NothingToRun { path: cycle.options.config_dir.clone(), findings });
        }
        Ok(cycle)
    }

    /// Runs until `stop`, then drains and ends all gateways.
    pub(super) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let mut poll = time::interval(self.options.poll_every);
        poll.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        let mut round = Box::pin(time::sleep(Duration::ZERO));
        loop {
            tokio::select! {
                _ = &mut stop => break,
                Some(event) = self.events.1.recv() => self.happened(event),
                _ = poll.tick() => {
                    if self.look_at_files() {
                        poll.reset_after(SETTLING);
                    }
                }
                () = &mut round => {
                    self.round().await;
                    round.set(time::sleep(self.pause()));
                }
            }
        }
        self.read().await;
        self.leave();
        join_all(self.fleets.values_mut().map(Fleet::stop)).await;
        self.screen.end();
    }

    /// Says that it ends, in the status files first: nobody may be left to write them once what runs has finished.
    fn leave(&mut self) {
        let at = now();
        for fleet in self.fleets.values_mut() {
            fleet.end();
            fleet.digest_readings(at);
            let status = self.reporter.report(fleet, &self.generations, at);
            for (about, result) in [("status", status), ("history", fleet.write_history(true, at))] {
                if let Err(cause) = result {
                    self.screen.say(&format!("cannot write {about} of fleet {}: {cause}", fleet.memory.name));
                }
            }
        }
        let running: u64 = self.fleets.values().map(|fleet| fleet.in_flight(at)).sum();
        let longest = self.fleets.values().map(Fleet::drain).max().unwrap_or_default();
        self.screen.say(&match running {
            0 => "ending: no new requests, none runs".to_owned(),
            running => format!(
                "ending: no new requests; {running} running may finish within {}, a second signal cuts them",
                figure::span(longest)
            ),
        });
    }

    fn pause(&self) -> Duration {
        let settled = self.fleets.values().all(|fleet| fleet.members.is_empty() || fleet.settled(now()));
        if settled { self.options.scrape_every } else { HURRY.min(self.options.scrape_every) }
    }

    /// Looks for changes of the files; true where one is under way.
    fn look_at_files(&mut self) -> bool {
        match self.directory.poll() {
            Ok(Reading::Same) => self.solved("files"),
            Ok(Reading::Changing) => return true,
            Ok(Reading::Changed(changed)) => {
                self.solved("files");
                if let Err(error) = self.take(changed) {
                    self.problem("files", error.to_string());
                }
            }
            Err(error) => self.problem("files", format!("{error}; everything stays as it is")),
        }
        false
    }

    /// Puts what the files say into force.
    fn take(&mut self, changed: Changed) -> Result<(), StartError> {
        for finding in &changed.findings {
            if !self.findings.contains(finding) {
                self.screen.say(&finding.to_string());
            }
        }
        for file in repaired(&self.findings, &changed.findings, &self.options.config_dir) {
            self.screen.say(&format!("{file}: good again"));
        }
        self.findings = changed.findings;
        self.stale = changed.stale;
        let mut resources = changed.objects;
        for resource in &mut resources {
            self.generations.stamp(resource, self.reporter.files());
        }
        for line in self.applied.take(resources.iter()) {
            self.screen.say(&line);
        }
        let objects: Objects = resources.into_iter().collect();
        let snapshots = objects.snapshots();
        self.end_fleets_without(&snapshots);
        for snapshot in snapshots {
            self.put_in_force(snapshot)?;
        }
        if let Err(cause) = self.reporter.keep_only(&self.fleets) {
            self.problem("status", format!("cannot remove old status files: {cause}"));
        }
        Ok(())
    }

    fn end_fleets_without(&mut self, snapshots: &[Snapshot]) {
        let named: Vec<&str> = snapshots.iter().map(|snapshot| snapshot.fleet.as_str()).collect();
        if self.main_fleet.is_none() {
            let own = |name: &&&str| !self.options.fleet_listen.contains_key(**name);
            let main = named.iter().find(|name| **name == DEFAULT_FLEET).or_else(|| named.iter().find(own));
            self.main_fleet = main.map(|name| (*name).to_owned());
        }
        let gone: Vec<String> =
            self.fleets.keys().filter(|name| !named.contains(&name.as_str())).cloned().collect();
        for name in gone {
            if let Some(mut fleet) = self.fleets.remove(&name) {
                self.screen.say(&format!("fleet {name}: nothing names it any more, ending its gateways"));
                tokio::spawn(async move { fleet.stop().await });
            }
        }
    }

    fn put_in_force(&mut self, snapshot: Snapshot) -> Result<(), StartError> {
        let name = snapshot.fleet.clone();
        let about = format!("fleet {name}");
        if !self.fleets.contains_key(&name) {
            let Some(address) = self.address(&name) else {
                self.problem(
                    &about,
                    format!("fleet {name} has no address: start again with --listen {name}=ADDR"),
                );
                return Ok(());
            };
            let reserved = Reserved::new(address, "--listen")?;
            let run_dir = self.options.run_dir();
            let mut fleet = Fleet::new(&name, &run_dir, reserved, now())
                .map_err(|cause| StartError::Unwritable { path: run_dir, cause })?;
            if let Err(cause) = fleet.resume_history(now()) {
                self.problem("history", cause);
            }
            self.fleets.insert(name.clone(), fleet);
        }
        let admins = self.admins(&name)?;
        let Some(fleet) = self.fleets.get_mut(&name) else { return Ok(()) };
        fleet.memory.snapshot = snapshot;
        fleet.memory.notes.clone_from(&self.stale);
        let files = self.reporter.files();
        fleet.memory.restore(|policy| files.cohorts(policy), now());
        let written = fleet.compile().and_then(|()| fleet.write_fleet_file(now()));
        written.map_err(|cause| StartError::Unwritable { path: self.options.run_dir(), cause })?;
        if fleet.memory.config.is_some() && fleet.members.is_empty() {
            fleet.start(&Start {
                command: &self.options.gateway,
                records: &self.options.records,
                secrets: &self.options.config_dir.join(SECRETS),
                admins,
                events: &self.events.0,
            });
        }
        self.solved(&about);
        Ok(())
    }

    fn address(&self, fleet: &str) -> Option<SocketAddr> {
        let named = self.options.fleet_listen.get(fleet).copied();
        named.or_else(|| (self.main_fleet.as_deref() == Some(fleet)).then_some(self.options.listen))
    }

    /// Admin ports for a fleet that has no gateways yet.
    fn admins(&mut self, fleet: &str) -> Result<Vec<Admin>, PortError> {
        if self.fleets.get(fleet).is_some_and(|fleet| !fleet.members.is_empty()) {
            return Ok(Vec::new());
        }
        let first = self.options.admin;
        let mut admins = Vec::new();
        for _ in 0..self.options.replicas.max(1) {
            admins.push(if first.port() == 0 {
                Admin::Free(first.ip())
            } else {
                let port = first.port().checked_add(self.admins_used);
                let port = port.ok_or(PortError::Exhausted { first, flag: "--admin" })?;
                self.admins_used += 1;
                Admin::Fixed(port::free(SocketAddr::new(first.ip(), port), "--admin")?)
            });
        }
        Ok(admins)
    }

    /// What a gateway process did.
    fn happened(&mut self, event: Event) {
        let member =
            |fleets: &'_ mut BTreeMap<String, Fleet>, uid: &str, act: &mut dyn FnMut(&mut Fleet, usize)| {
                for fleet in fleets.values_mut() {
                    if let Some(index) = fleet.members.iter().position(|member| member.uid == uid) {
                        act(fleet, index);
                    }
                }
            };
        match event {
            Event::Started { uid, admin } => {
                member(&mut self.fleets, &uid, &mut |fleet, index| fleet.members[index].admin = Some(admin));
            }
            Event::Died { uid, cause, retry_in } => {
                self.screen.say(&format!(
                    "gateway {uid} died ({cause}); starting it again in {}ms",
                    retry_in.as_millis()
                ));
                member(&mut self.fleets, &uid, &mut |fleet, index| {
                    fleet.members[index].failure = Some(cause.clone());
                    fleet.members[index].restarts += 1;
                    fleet.memory.store.ended(&uid, now());
                });
            }
            Event::Log { uid, line } => self.screen.log(&uid, &line),
            Event::Killed { uid } => {
                self.screen.say(&format!("gateway {uid} did not drain in time and was killed"));
            }
        }
    }

    /// Reads the gateways, decides, writes, shows.
    async fn round(&mut self) {
        self.read().await;
        let at = now();
        self.problems.retain(|about, _| !about.starts_with("hold "));
        let mut decided = Vec::new();
        let command = format!(" --config {}", self.options.config_dir.display());
        for fleet in self.fleets.values_mut() {
            fleet.digest_readings(at);
            let directory = &self.options.config_dir;
            let sight = fleet.pods(at).sight();
            let round = fleet.memory.look(|policy| hold::annotations(policy, directory), &command, sight, at);
            for (index, problem) in round.problems.into_iter().enumerate() {
                self.problems.insert(format!("hold {} {index}", fleet.memory.name), problem);
            }
            decided.push((fleet.memory.name.clone(), round.decisions));
        }
        for (name, decisions) in decided {
            for decision in &decisions {
                self.screen.decided(decision);
                self.timeline.push_back(overview::entry(decision));
            }
            self.write(&name, !decisions.is_empty(), at);
        }
        while self.timeline.len() > TIMELINE {
            self.timeline.pop_front();
        }
        self.show(at);
    }

    /// Status first, then configuration.
    fn write(&mut self, name: &str, decided: bool, at: Moment) {
        let Some(fleet) = self.fleets.get_mut(name) else { return };
        let status = self.reporter.report(fleet, &self.generations, at);
        let config = if decided { fleet.compile() } else { Ok(()) };
        let config = config.and_then(|()| fleet.write_fleet_file(at));
        let history = fleet.write_history(false, at);
        for (about, result) in [("status", status), ("configuration", config), ("history", history)] {
            match result {
                Ok(()) => self.solved(about),
                Err(cause) => self.problem(about, format!("cannot write {about} of fleet {name}: {cause}")),
            }
        }
    }

    async fn read(&mut self) {
        let fetcher = &self.fetcher;
        let reads = self.fleets.values().flat_map(|fleet| {
            fleet.members.iter().filter_map(|member| {
                let (fleet, uid, admin) = (fleet.memory.name.clone(), member.uid.clone(), member.admin?);
                Some(async move { (fleet, uid, fetcher.state(admin).await) })
            })
        });
        for (fleet, uid, read) in join_all(reads).await {
            match read {
                // Another process on that port is nobody that we started.
                Ok(state) if state.pod.uid != uid => {
                    self.unread.insert(uid, format!("the admin port belongs to {:?}", state.pod.uid));
                }
                Ok(state) => {
                    self.unread.remove(&uid);
                    if let Some(fleet) = self.fleets.get_mut(&fleet) {
                        fleet.observe(&uid, state, now());
                    }
                }
                Err(error) => drop(self.unread.insert(uid, error.to_string())),
            }
        }
    }

    fn show(&mut self, at: Moment) {
        let mut problems: Vec<String> =
            self.findings.iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect();
        problems.extend(self.problems.values().cloned());
        for fleet in self.fleets.values() {
            for pod in fleet.pods(at).members.iter().filter(|pod| pod.state.is_none()) {
                let member = fleet.members.iter().find(|member| member.uid == pod.name);
                let cause =
                    member.and_then(|member| member.failure.as_ref()).or_else(|| self.unread.get(pod.name));
                problems.extend(cause.map(|cause| format!("gateway {}: {cause}", pod.name)));
            }
        }
        let view = View {
            at_unix_ms: at.as_millis(),
            started_unix_ms: self.started.as_millis(),
            fleets: self.fleets.values().map(|fleet| overview::fleet(fleet, at)).collect(),
            decisions: self.timeline.iter().cloned().collect(),
            problems,
        };
        self.screen.show(&view);
        self.views.send_replace(Arc::new(view));
    }

    fn solved(&mut self, about: &str) {
        if let Some(problem) = self.problems.remove(about) {
            self.screen.say(&format!("no longer: {problem}"));
        }
    }

    fn problem(&mut self, about: &str, message: String) {
        if self.problems.get(about) != Some(&message) {
            self.screen.say(&message);
            self.problems.insert(about.to_owned(), message);
        }
    }
}
