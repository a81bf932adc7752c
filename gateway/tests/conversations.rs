//! A thousand conversations over three routes, one of which fails for a while: whoever has a prompt cache somewhere goes
//! on asking there, and only those move whose route is gone.
//!
//! The real router, plan and race over scripted transports in paused time. Moving a conversation costs its cached prompt,
//! ten times the price of its input (research: 0.085 % hits without affinity, 99.4 % with it).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pod;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use futures_util::future::join_all;
use hedgerow_config::{GatewayConfig, Route, settings::Egress};
use hedgerow_gateway::{
    front::router::{Router, router},
    race::transport::{Response, Sending, Transport, Transports},
    runtime::trust::Trust,
    upstream::SetupError,
    wire::splice::Segments,
};
use http::{Request, request};
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tower::ServiceExt as _;

const CONVERSATIONS: usize = 1_000;
/// Conversations that ask at the same time.
const TOGETHER: usize = 50;
/// Between two turns of a conversation; longer than a breaker's first back-off takes to end.
const PAUSE: Duration = Duration::from_secs(3);
/// The route that fails, and at which turns.
const EJECTED: &str = "b";
const DOWN: std::ops::Range<usize> = 4..7;
const TURNS: usize = 20;

/// Routes that answer at once, but for the ejected one while it is down.
struct Routes(Arc<AtomicBool>);

struct Scripted {
    down: Arc<AtomicBool>,
    ejected: bool,
}

impl Transports for Routes {
    fn open(&self, route: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(Scripted { down: self.0.clone(), ejected: route.name == EJECTED }))
    }
}

impl Transport for Scripted {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let fails = self.ejected && self.down.load(Ordering::Relaxed);
        let (status, body) = if fails {
            (500, json!({ "error": { "message": "down", "type": "server_error" } }))
        } else {
            let message = json!({ "role": "assistant", "content": "well" });
            (200, json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }))
        };
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let head = http::Response::builder().status(status).header("content-type", "application/json");
            let head = head.body(()).unwrap().into_parts().0;
            Ok(Response {
                head,
                body: Box::pin(Full::from(body.to_string()).map_err(|never| match never {})),
            })
        })
    }
}

fn configuration() -> GatewayConfig {
    let route = |name: &str| {
        json!({
            "name": name, "uid": name, "api": "OpenAI", "endpoint": format!("http://{name}.test"),
            "auth": { "type": "None" }, "failureDomain": { "provider": "p", "region": name }, "quotaGroup": name,
            "models": [{ "name": "chat" }],
        })
    };
    let config = json!({
        "schema": "hedgerow.dev/gateway/v1",
        "fleet": { "namespace": "test", "name": "default" },
        "settings": { "defaults": { "budget": { "ratioPercent": 100, "cap": 100, "retryReservePerSecond": 10 } } },
        "routes": [route("a"), route("b"), route("c")],
        "lanes": [{ "name": "wide", "priority": 0, "concurrency": { "algorithm": "Fixed", "initial": 500 } }],
    });
    GatewayConfig::read(config.to_string().as_bytes()).unwrap()
}

/// The route that served one turn: the prompt grows, its beginning stays.
async fn ask(router: Router, conversation: usize, turn: usize) -> String {
    let first = format!("conversation {conversation}: {}", "tell me more about hedges ".repeat(165));
    let mut messages = vec![json!({ "role": "user", "content": first })];
    for past in 0..turn {
        messages.push(json!({ "role": "assistant", "content": "well" }));
        messages.push(json!({ "role": "user", "content": format!("and then, {past}?") }));
    }
    let body = json!({ "model": "chat", "messages": messages }).to_string();
    let answer =
        router.oneshot(Request::post("/v1/chat/completions").body(Body::from(body)).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200, "conversation {conversation}, turn {turn}");
    let route = answer.headers()["x-hedgerow-route"].to_str().unwrap().to_owned();
    answer.into_body().collect().await.unwrap();
    route
}

/// The routes of all turns of all conversations.
async fn play() -> Vec<Vec<String>> {
    let down = Arc::new(AtomicBool::new(false));
    let runtime = pod::runtime(Routes(down.clone()), configuration());
    let tick = tokio::spawn(runtime.clone().tick());
    let router = router(runtime);
    let mut routes = vec![Vec::new(); CONVERSATIONS];
    for turn in 0..TURNS {
        down.store(DOWN.contains(&turn), Ordering::Relaxed);
        for first in (0..CONVERSATIONS).step_by(TOGETHER) {
            let asked = (first..first + TOGETHER).map(|conversation| ask(router.clone(), conversation, turn));
            for (place, route) in join_all(asked).await.into_iter().enumerate() {
                routes[first + place].push(route);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    tick.abort();
    routes
}

#[tokio::test(start_paused = true)]
async fn conversations_stay_where_their_prompt_is_cached_and_only_those_of_a_lost_route_move() {
    let routes = play().await;
    let home = |name: &str| routes.iter().filter(|turns| turns[0] == name).count();
    for name in ["a", "b", "c"] {
        assert!((250..420).contains(&home(name)), "{name} has {} of {CONVERSATIONS}", home(name));
    }
    let mut moves = 0;
    for (conversation, turns) in routes.iter().enumerate() {
        moves += turns.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if turns[0] == EJECTED {
            let away = turns.iter().filter(|route| *route != EJECTED).count();
            assert!(away >= DOWN.len(), "conversation {conversation} was served by a route that is down");
            assert_eq!(turns[TURNS - 1], EJECTED, "conversation {conversation} came back");
        } else {
            assert!(
                turns.iter().all(|route| *route == turns[0]),
                "conversation {conversation} moved: {turns:?}"
            );
        }
    }
    let turns = CONVERSATIONS * (TURNS - 1);
    assert!(moves * 20 <= turns, "{moves} of {turns} turns moved");
}
