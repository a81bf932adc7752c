//! An answer to HEAD has no body, whatever protocol would carry it: hyper writes over HTTP/2 what it is given.

use axum::body::Body;
use hedgerow_gateway::front::{router::router, server::Limits};
use http::{Request, StatusCode};
use http_body::Body as _;
use tower::ServiceExt as _;

use crate::pod::pod;

#[tokio::test]
async fn head_is_refused_without_a_body_whose_length_is_still_told() {
    let pod = pod(Limits::default(), |_| {});
    let ask = async |method| {
        let request = Request::builder().method(method).uri("/v1/models").body(Body::empty()).unwrap();
        router(pod.runtime.clone()).oneshot(request).await.unwrap()
    };
    // The refusal names the method, so one of the same length.
    let (head, post) = (ask("HEAD").await, ask("POST").await);
    let length = post.body().size_hint().exact().unwrap();
    assert!(length > 0);
    assert_eq!(
        (head.status(), post.status()),
        (StatusCode::METHOD_NOT_ALLOWED, StatusCode::METHOD_NOT_ALLOWED)
    );
    assert_eq!(head.headers()["content-length"], length.to_string());
    assert!(head.body().is_end_stream());
}
