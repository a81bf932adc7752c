//! One run: all clients, each playing user actions until all are played, and what came of them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use fastrand::Rng;
use hyper::Version;

use crate::{
    SEED,
    book::Book,
    client::{Answer, Link, Seen},
    garbage,
    plan::Plan,
    stand::Stand,
    verdict,
};

/// Connections over HTTP/1.1, over HTTP/2 with one stream, and over HTTP/2 with two.
const CONNECTIONS: [usize; 3] = [32, 16, 16];
/// One in so many is garbage.
const GARBAGE: u32 = 100;

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So many user actions.
    Actions(u32),
    /// As many as are played in this time.
    Time(Duration),
}

/// What all clients share.
pub struct Run {
    length: Length,
    began: Instant,
    next: AtomicU32,
    book: &'static Book,
    tally: Mutex<BTreeMap<String, u64>>,
    wrong: Mutex<Vec<(u32, String)>>,
}

impl Run {
    /// A run of this length, which begins now, against providers that keep this book.
    pub fn new(length: Length, book: &'static Book) -> Self {
        let (next, began) = (AtomicU32::new(0), Instant::now());
        Self { length, began, next, book, tally: Mutex::default(), wrong: Mutex::default() }
    }

    /// Plays everything; the gateway's memory at each tenth, in bytes.
    pub async fn play(&'static self, stand: &Stand) -> Vec<u64> {
        let mut workers = Vec::new();
        for (kind, connections) in CONNECTIONS.into_iter().enumerate() {
            for _ in 0..connections {
                let version = if kind == 0 { Version::HTTP_11 } else { Version::HTTP_2 };
                let link = Link::new(stand.traffic, version, kind < 2);
                for _ in 0..=usize::from(kind == 2) {
                    workers.push(tokio::spawn(self.worker(link.clone(), stand.traffic)));
                }
            }
        }
        let memory = self.watch(stand).await;
        for worker in workers {
            worker.await.expect("a client that does not panic");
        }
        memory
    }

    /// User actions so far.
    pub fn actions(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// The next user action, unless the run is over.
    fn draw(&self) -> Option<u32> {
        let last = match self.length {
            Length::Actions(total) => total,
            Length::Time(time) if self.began.elapsed() < time => u32::MAX,
            Length::Time(_) => 0,
        };
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < last).then_some(next + 1))
            .ok()
    }

    /// Full tenths of the run that are over.
    fn tenths(&self) -> usize {
        let tenths = match self.length {
            Length::Actions(total) => u64::from(self.actions()) * 10 / u64::from(total),
            Length::Time(time) => (self.began.elapsed().as_millis() * 10 / time.as_millis()) as u64,
        };
        tenths.min(10) as usize
    }

    /// How often what was seen.
    pub fn tally(&self) -> BTreeMap<String, u64> {
        self.tally.lock().unwrap().clone()
    }

    /// Answers that may not be as they were.
    pub fn wrong(&self) -> Vec<(u32, String)> {
        self.wrong.lock().unwrap().clone()
    }

    async fn worker(&'static self, link: Link, gateway: SocketAddr) {
        while let Some(number) = self.draw() {
            if number.is_multiple_of(GARBAGE) {
                garbage::send(gateway, &mut Rng::with_seed(SEED ^ u64::from(number))).await;
                self.count("garbage");
                continue;
            }
            let plan = Plan::draw(SEED, number);
            match link.play(&plan).await {
                Seen::Left => self.count("left"),
                Seen::Nothing(why) => self.find(&plan, &format!("no answer: {why}")),
                Seen::Answer(answer) => {
                    self.judge(&plan, &answer);
                    if attempts(&answer) == "0" {
                        // As SDKs do it. Else clients come round again and again while a route rests, and most
                        // user actions never reach a provider.
                        tokio::time::sleep(retry_after(&answer)).await;
                    }
                }
            }
        }
    }

    fn judge(&self, plan: &Plan, answer: &Answer) {
        let header = |name: &str| answer.headers.get(name).map_or("", |value| value.to_str().unwrap());
        match verdict::judge(plan, answer, self.book) {
            Ok(verdict) => {
                self.count(format!("{verdict:?}").to_lowercase());
                self.count(format!("attempts {}", attempts(answer)));
                if header("x-hedgerow-hedged") == "true" {
                    self.count("hedged");
                }
            }
            Err(why) => {
                let body = String::from_utf8_lossy(&answer.body).into_owned();
                self.find(
                    plan,
                    &format!("{why}: {} {:?} {:?} {body}", answer.status, answer.broken, answer.headers),
                );
            }
        }
    }

    /// Looks at the gateway until all actions are played.
    async fn watch(&self, stand: &Stand) -> Vec<u64> {
        let mut memory = Vec::new();
        while memory.len() < 10 {
            if self.tenths() > memory.len() {
                memory.push(stand.resident());
                stand.admin("/metrics").await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        memory
    }

    fn count(&self, what: impl Into<String>) {
        *self.tally.lock().unwrap().entry(what.into()).or_default() += 1;
    }

    fn find(&self, plan: &Plan, what: &str) {
        self.wrong.lock().unwrap().push((plan.number, format!("{plan:?}\n  {what}")));
    }
}

/// How many attempts were made for an answer.
fn attempts(answer: &Answer) -> &str {
    answer.headers.get("x-hedgerow-attempts").map_or("", |value| value.to_str().unwrap())
}

/// How long the gateway asks to wait.
fn retry_after(answer: &Answer) -> Duration {
    let seconds = answer.headers.get("retry-after").map_or("0", |value| value.to_str().unwrap());
    Duration::from_secs(seconds.parse().unwrap())
}
