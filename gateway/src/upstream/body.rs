//! The body of an upstream's answer, frame by frame.
//!
//! Inputs: hyper's body. Outputs: frames as they arrive; at the end the connection goes back to its pool. Invariant:
//! dropping it before the end cancels the attempt: h2 resets the stream, HTTP/1.1 closes the connection.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::{error::UpstreamError, pool::Lease};

/// The body of an upstream's answer.
pub struct UpstreamBody {
    incoming: Incoming,
    lease: Option<Lease>,
}

impl UpstreamBody {
    pub(super) fn new(incoming: Incoming, lease: Lease) -> Self {
        Self { incoming, lease: Some(lease) }
    }

    fn finish(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.finish();
        }
    }
}

impl http_body::Body for UpstreamBody {
    type Data = Bytes;
    type Error = UpstreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamError>>> {
        match ready!(Pin::new(&mut self.incoming).poll_frame(context)) {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Err(error)) => {
                self.lease = None;
                Poll::Ready(Some(Err(UpstreamError::from_hyper(&error))))
            }
            None => {
                self.finish();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        // A reader that knows the length stops before the end-of-stream poll.
        if self.incoming.is_end_stream() {
            self.finish();
        }
    }
}

impl std::fmt::Debug for UpstreamBody {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("UpstreamBody").finish_non_exhaustive()
    }
}
