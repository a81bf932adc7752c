//! A provider that tells what is left of its limits is not asked for more than that, so it never has to refuse.
//!
//! The real router, plan and race over scripted transports in paused time. Route `a` belongs to an account of ten requests
//! a minute that refills continuously, as both vendors' do; route `b` has no limits. Sixty of 120 requests in a minute
//! would go to `a`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "the scripted account keeps paused time itself")]

mod pod;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body;
use hedgerow_config::{GatewayConfig, Route, settings::Egress};
use hedgerow_gateway::{
    front::router::{Router, router},
    race::transport::{Response, Sending, Transport, Transports},
    runtime::{Runtime, trust::Trust},
    upstream::SetupError,
    wire::splice::Segments,
};
use http::{Request, request};
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};
use tower::ServiceExt as _;

/// Requests a minute, and at once.
const LIMIT: f64 = 10.0;

/// The account behind route `a`.
struct Account {
    level: f64,
    at: Instant,
    tells: bool,
    served: u32,
    refused: u32,
}

impl Account {
    /// One more request: its status, what is left, and the reset in seconds.
    fn take(&mut self) -> (u16, f64, f64) {
        let now = Instant::now();
        self.level = (self.level + (now - self.at).as_secs_f64() * LIMIT / 60.0).min(LIMIT);
        self.at = now;
        let status = if self.level >= 1.0 { 200 } else { 429 };
        if status == 200 {
            self.level -= 1.0;
            self.served += 1;
        } else {
            self.refused += 1;
        }
        (status, self.level.floor(), (LIMIT - self.level) * 60.0 / LIMIT)
    }
}

struct Routes(Arc<Mutex<Account>>);

struct Scripted(Option<Arc<Mutex<Account>>>);

impl Transports for Routes {
    fn open(&self, route: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(Scripted((route.name == "a").then(|| self.0.clone()))))
    }
}

impl Transport for Scripted {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let mut head = http::Response::builder().header("content-type", "application/json");
        let mut status = 200;
        if let Some(account) = &self.0 {
            let mut account = account.lock().unwrap();
            let (found, left, reset) = account.take();
            status = found;
            if account.tells {
                head = head
                    .header("x-ratelimit-limit-requests", "10")
                    .header("x-ratelimit-remaining-requests", left.to_string())
                    .header("x-ratelimit-reset-requests", format!("{reset:.3}s"));
            }
        }
        let body = if status == 200 {
            let message = json!({ "role": "assistant", "content": "well" });
            json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
        } else {
            json!({ "error": { "message": "slow down", "code": "rate_limit_exceeded" } })
        };
        let head = head.status(status).body(()).unwrap().into_parts().0;
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(Response {
                head,
                body: Box::pin(Full::from(body.to_string()).map_err(|never| match never {})),
            })
        })
    }
}

fn gateway(account: &Arc<Mutex<Account>>, names: &[&str]) -> (Arc<Runtime>, JoinHandle<()>) {
    let route = |name: &&str| {
        json!({
            "name": name, "uid": name, "api": "OpenAI", "endpoint": format!("http://{name}.test"),
            "auth": { "type": "None" }, "failureDomain": { "provider": "p", "region": name }, "quotaGroup": name,
            "models": [{ "name": "chat" }],
        })
    };
    let config = json!({
        "schema": "hedgerow.dev/gateway/v1",
        "fleet": { "namespace": "test", "name": "default" },
        "routes": names.iter().map(route).collect::<Vec<_>>(),
    });
    let config = GatewayConfig::read(config.to_string().as_bytes()).unwrap();
    let runtime = pod::runtime(Routes(account.clone()), config);
    let tick = tokio::spawn(runtime.clone().tick());
    (runtime, tick)
}

async fn ask(router: &Router) -> u16 {
    let body = json!({ "model": "chat", "messages": [{ "role": "user", "content": "hello" }] });
    let request = Request::post("/v1/chat/completions").body(Body::from(body.to_string())).unwrap();
    router.clone().oneshot(request).await.unwrap().status().as_u16()
}

/// A minute of requests, two a second: (answered, served by the account, refused by it).
async fn minute(tells: bool, names: &[&str]) -> (u32, u32, u32) {
    let now = Instant::now();
    let account = Arc::new(Mutex::new(Account { level: LIMIT, at: now, tells, served: 0, refused: 0 }));
    let (runtime, tick) = gateway(&account, names);
    let router = router(runtime);
    let mut answered = 0;
    for _ in 0..120 {
        answered += u32::from(ask(&router).await == 200);
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    tick.abort();
    let account = account.lock().unwrap();
    (answered, account.served, account.refused)
}

#[tokio::test(start_paused = true)]
async fn an_account_that_tells_what_is_left_never_has_to_refuse() {
    let (answered, served, refused) = minute(true, &["a", "b"]).await;
    assert_eq!((answered, refused), (120, 0), "{served} served");
    assert!((16..=20).contains(&served), "ten at once and up to ten in the minute, not {served}");
}

#[tokio::test(start_paused = true)]
async fn one_that_tells_nothing_is_asked_until_it_refuses() {
    let (answered, _, refused) = minute(false, &["a", "b"]).await;
    assert_eq!(answered, 120, "a 429 is retried on the other route");
    assert!(refused > 0);
}

#[tokio::test(start_paused = true)]
async fn the_last_route_is_asked_whatever_it_has_told() {
    let (answered, served, refused) = minute(true, &["a"]).await;
    assert_eq!(answered, served);
    assert!(served >= 10 && refused > 0, "{served} served, {refused} refused");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_in_the_state_and_in_a_gauge_until_nobody_knows() {
    let account = Arc::new(Mutex::new(Account {
        level: LIMIT,
        at: Instant::now(),
        tells: true,
        served: 0,
        refused: 0,
    }));
    let (runtime, tick) = gateway(&account, &["a"]);
    let router = router(runtime.clone());
    let left = || runtime.state().routes[0].quotas.clone();
    let shown = || {
        let text = runtime.metrics.encode();
        text.lines().find(|line| line.starts_with("hedgerow_quota_left{")).map(str::to_owned)
    };
    assert_eq!((left(), shown()), (Vec::new(), None));
    for _ in 0..4 {
        assert_eq!(ask(&router).await, 200);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let told = left();
    assert_eq!((told.len(), told[0].model.as_str(), told[0].tokens), (1, "chat", None), "{told:?}");
    let requests = told[0].requests.unwrap();
    assert_eq!((requests.limit, requests.left), (10, 6));
    assert!((20_000..25_000).contains(&requests.reset_ms), "{requests:?}");
    let wanted = r#"hedgerow_quota_left{route="a",gen_ai_request_model="chat",unit="requests"} 6"#;
    assert_eq!(shown().as_deref(), Some(wanted));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((left(), shown()), (Vec::new(), None), "it is whole again, and nobody has told since");
    tick.abort();
}
