//! A route that is suspended while a user action is under way gets nothing more of it, neither a hedge nor a retry: somebody
//! has just said that no attempt may begin there. What runs goes on.
//!
//! The real router and race over scripted transports in paused time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pod;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body;
use hedgerow_config::{GatewayConfig, Route, settings::Egress};
use hedgerow_gateway::{
    front::router::router,
    race::transport::{Response, Sending, Transport, Transports},
    runtime::trust::Trust,
    upstream::SetupError,
    wire::splice::Segments,
};
use http::{Request, request};
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tower::ServiceExt as _;

/// How long every provider takes; hedges go out after a fifth of it.
const TAKES: Duration = Duration::from_secs(1);

/// Providers that note who was asked; whoever is asked first answers with `status`, the others well.
#[derive(Clone)]
struct Providers {
    asked: Arc<Mutex<Vec<String>>>,
    status: u16,
}

struct Provider {
    all: Providers,
    name: String,
}

impl Transports for Providers {
    fn open(&self, route: &Route, _: &Egress, _: &Trust) -> Result<Arc<dyn Transport>, SetupError> {
        Ok(Arc::new(Provider { all: self.clone(), name: route.name.clone() }))
    }
}

impl Transport for Provider {
    fn send(&self, _: request::Parts, _: Segments) -> Sending {
        let mut asked = self.all.asked.lock().unwrap();
        asked.push(self.name.clone());
        let status = if asked.len() == 1 { self.all.status } else { 200 };
        let message = json!({ "role": "assistant", "content": "well" });
        let body = if status == 200 {
            json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
        } else {
            json!({ "error": { "message": "down", "type": "server_error" } })
        };
        Box::pin(async move {
            tokio::time::sleep(TAKES).await;
            let head = http::Response::builder().status(status).header("content-type", "application/json");
            let head = head.body(()).unwrap().into_parts().0;
            Ok(Response {
                head,
                body: Box::pin(Full::from(body.to_string()).map_err(|never| match never {})),
            })
        })
    }
}

/// Two routes, of which the second only gets what the first cannot serve.
fn configuration(suspended: bool) -> GatewayConfig {
    let route = |name: &str, tier: u32| {
        json!({
            "name": name, "uid": name, "api": "OpenAI", "endpoint": format!("http://{name}.test"),
            "auth": { "type": "None" }, "failureDomain": { "provider": "p", "region": name }, "quotaGroup": name,
            "models": [{ "name": "chat" }], "tier": tier, "suspend": suspended && name == "second",
        })
    };
    let cohort = json!({
        "policy": "policy", "name": "all", "mode": "Enforce", "sharePercent": 100,
        "delay": { "strategy": "Fixed", "quantilePercent": 95, "minMs": 10, "maxMs": 8000, "coldStartMs": 200, "fixedMs": 200 },
        "deadline": { "streamMs": 10000, "completeMs": 10000, "totalMs": 60000 },
        "duplicateTargetPercent": 100, "holdoutPercent": 0, "retry": { "maxAttempts": 3, "backoffBaseMs": 50 },
        "blind": { "action": "Continue" },
        "decision": { "state": "Active", "hedgingPercent": 100, "transition": 1 },
    });
    let config = json!({
        "schema": "hedgerow.dev/gateway/v1",
        "fleet": { "namespace": "test", "name": "default" },
        "settings": { "defaults": { "budget": { "ratioPercent": 100, "cap": 100, "retryReservePerSecond": 10 } } },
        "routes": [route("first", 0), route("second", 1)],
        "cohorts": [cohort],
        "lanes": [{ "name": "wide", "priority": 0 }],
    });
    GatewayConfig::read(config.to_string().as_bytes()).unwrap()
}

/// Status of a user action and the routes that it asked, where the first attempt gets `status` and the second route is
/// suspended, if at all, while that runs.
async fn ask(status: u16, suspend: bool) -> (u16, Vec<String>) {
    let providers = Providers { asked: Arc::default(), status };
    let runtime = pod::runtime(providers.clone(), configuration(false));
    let tick = tokio::spawn(runtime.clone().tick());
    let body = r#"{"model":"chat","messages":[{"role":"user","content":"well?"}]}"#;
    let request = Request::post("/v1/chat/completions").body(Body::from(body)).unwrap();
    let answer = tokio::spawn(router(runtime.clone()).oneshot(request));
    tokio::time::sleep(TAKES / 10).await;
    if suspend {
        runtime.apply(configuration(true), "1".into()).unwrap();
    }
    let answer = answer.await.unwrap().unwrap();
    let seen = answer.status().as_u16();
    answer.into_body().collect().await.unwrap();
    tick.abort();
    let asked = providers.asked.lock().unwrap().clone();
    (seen, asked)
}

#[tokio::test(start_paused = true)]
async fn no_hedge_goes_to_a_route_that_was_suspended_after_its_user_action_began() {
    let first = "first".to_owned();
    assert_eq!(ask(200, false).await, (200, vec![first.clone(), "second".to_owned()]), "else it is hedged");
    assert_eq!(ask(200, true).await, (200, vec![first]));
}

#[tokio::test(start_paused = true)]
async fn no_retry_goes_to_a_route_that_was_suspended_after_its_user_action_began() {
    let (status, asked) = ask(500, true).await;
    assert_eq!((status, asked), (200, vec!["first".to_owned(), "first".to_owned()]), "tried where it may");
}
