//! The two bodies of an answer: frames on a timeline, and one document.
//!
//! Both own the [`Turn`](super::turn::Turn): dropping them before their end is the cancellation. Both can be
//! cut: what was produced so far is flushed first (one pending poll lets hyper write it), then the body fails
//! and hyper aborts the connection or resets the stream.

mod document;
mod timeline;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};

pub(crate) use document::Document;
pub(crate) use timeline::Timeline;

/// The body of every response of a provider.
pub(crate) type Body = UnsyncBoxBody<Bytes, Aborted>;

/// The provider aborts this body on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the scripted answer is cut here")]
pub(crate) struct Aborted;

/// A body that is already complete and has no turn.
pub(crate) fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}
