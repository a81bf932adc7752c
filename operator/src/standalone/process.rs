//! One gateway as a child process: started, watched, restarted with back-off, drained.
//!
//! Input: a [`Launch`]. Output: [`Event`]s on a channel. The child's stdin is a pipe that we hold open: closing it asks the
//! child to drain, and it closes by itself if this process dies in any way, so no gateway outlives its parent. The child is
//! in a process group of its own, so that Ctrl-C in a terminal reaches only the parent.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time,
};

use super::{
    port,
    records::{self, Records},
};

/// First pause before a restart; doubles up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(250);
/// Longest pause before a restart.
const LONGEST: Duration = Duration::from_secs(30);
/// A child that lived this long starts the series of pauses anew.
const SETTLED: Duration = Duration::from_mins(1);
/// A line that a child wrote so long before its end is not about it.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Longest line of a child's log that is passed on, in bytes.
const MAX_LINE: usize = 4096;

/// How to start gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayCommand {
    /// Program.
    pub program: PathBuf,
    /// Arguments before the gateway's own ones, for example `gateway`.
    pub args: Vec<String>,
}

/// One gateway to start.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) command: GatewayCommand,
    /// Name in `/state`, logs and messages.
    pub(super) uid: String,
    pub(super) config: PathBuf,
    pub(super) secrets: PathBuf,
    pub(super) listen: SocketAddr,
    pub(super) admin: Admin,
    pub(super) records: Records,
}

/// Admin port of a gateway.
#[derive(Clone, Copy, Debug)]
pub(super) enum Admin {
    /// This one.
    Fixed(SocketAddr),
    /// A free one, anew at each start.
    Free(IpAddr),
}

/// What happened to a child.
#[derive(Debug)]
pub(super) enum Event {
    /// It runs.
    Started { uid: String, admin: SocketAddr },
    /// It ended by itself or could not be started; the next start is in `retry_in`.
    Died { uid: String, cause: String, retry_in: Duration },
    /// It wrote a line to its log.
    Log { uid: String, line: String },
    /// It did not drain in time and was killed.
    Killed { uid: String },
}

/// A supervised child.
#[derive(Debug)]
pub(super) struct Gateway {
    stop: oneshot::Sender<Duration>,
    task: JoinHandle<()>,
}

impl Gateway {
    /// Starts it and keeps it running.
    pub(super) fn start(launch: Launch, events: mpsc::UnboundedSender<Event>) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(supervise(launch, events, stopped)) }
    }

    /// Drains and ends it; after `within` it is killed.
    pub(super) async fn stop(self, within: Duration) {
        let _ = self.stop.send(within);
        let _ = self.task.await;
    }
}

/// Starts the child again and again until `stop`.
async fn supervise(
    launch: Launch,
    events: mpsc::UnboundedSender<Event>,
    mut stop: oneshot::Receiver<Duration>,
) {
    let mut pause = SHORTEST;
    loop {
        let started = now();
        let cause = match spawn(&launch, &events) {
            // `wait` would close the child's stdin, so the pipe is held apart from it.
            Ok((mut child, last_line)) => {
                let stdin = child.stdin.take();
                tokio::select! {
                    status = child.wait() => cause_of_death(status, last_line).await,
                    within = &mut stop => {
                        drop(stdin);
                        return drain(child, within.unwrap_or_default(), &launch.uid, &events).await;
                    }
                }
            }
            Err(cause) => cause,
        };
        if now().duration_since(started) >= SETTLED {
            pause = SHORTEST;
        }
        let _ = events.send(Event::Died { uid: launch.uid.clone(), cause, retry_in: pause });
        tokio::select! {
            () = time::sleep(pause) => pause = (pause * 2).min(LONGEST),
            _ = &mut stop => return,
        }
    }
}

/// How it ended and what it said then.
async fn cause_of_death(status: std::io::Result<ExitStatus>, last_line: LastLine) -> String {
    let died = now();
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    match time::timeout(Duration::from_secs(1), last_line).await {
        Ok(Ok(Some((line, said)))) if is_about_its_end(said, died) => format!("{status}: {line}"),
        _ => status,
    }
}

/// Whether a line tells why a child died; an older one is about something else.
fn is_about_its_end(said: time::Instant, died: time::Instant) -> bool {
    died.saturating_duration_since(said) < LAST_WORDS
}

/// The last line of the log and when it came, once the child has closed it.
type LastLine = JoinHandle<Option<(String, time::Instant)>>;

fn spawn(launch: &Launch, events: &mpsc::UnboundedSender<Event>) -> Result<(Child, LastLine), String> {
    let admin = match launch.admin {
        Admin::Fixed(address) => port::free(address, "--admin"),
        Admin::Free(ip) => port::free(SocketAddr::new(ip, 0), "--admin"),
    }
    .map_err(|error| error.to_string())?;
    let mut command = Command::new(&launch.command.program);
    command
        .args(&launch.command.args)
        .arg("--config")
        .arg(&launch.config)
        .arg("--secrets")
        .arg(&launch.secrets)
        .args(["--listen", &launch.listen.to_string()])
        .args(["--admin", &admin.to_string()])
        .args(["--pod-uid", &launch.uid, "--reuse-port", "--until-stdin-closes"])
        .args(["--log", "warn", "--log-format", "text"])
        .stdin(Stdio::piped())
        .stdout(launch.records.stdio().map_err(|error| format!("records: {error}"))?)
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", launch.command.program.display()))?;
    if let Some(stdout) = child.stdout.take() {
        records::pass_on(stdout);
    }
    let stderr = child.stderr.take();
    let last_line = tokio::spawn(pass_log_on(stderr, launch.uid.clone(), events.clone()));
    let _ = events.send(Event::Started { uid: launch.uid.clone(), admin });
    Ok((child, last_line))
}

async fn drain(mut child: Child, within: Duration, uid: &str, events: &mpsc::UnboundedSender<Event>) {
    if time::timeout(within, child.wait()).await.is_err() {
        let _ = child.kill().await;
        let _ = events.send(Event::Killed { uid: uid.to_owned() });
    }
}

/// Sends each line of the log on and returns the last one, which may tell why a child died.
async fn pass_log_on(
    stderr: Option<ChildStderr>,
    uid: String,
    events: mpsc::UnboundedSender<Event>,
) -> Option<(String, time::Instant)> {
    let mut reader = BufReader::new(stderr?);
    let (mut bytes, mut last) = (Vec::new(), None);
    loop {
        bytes.clear();
        match reader.read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return last,
            Ok(_) => {}
        }
        bytes.truncate(MAX_LINE);
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if !line.is_empty() {
            last = Some((line.clone(), now()));
            let _ = events.send(Event::Log { uid: uid.clone(), line });
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a child lived is this shell's own concern")]
fn now() -> time::Instant {
    time::Instant::now()
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
