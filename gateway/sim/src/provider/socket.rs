//! A TCP connection that can die as a killed process lets it die: with a reset instead of an orderly end.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::watch,
};

use super::state::Stop;

/// A stream whose drop resets the connection when the provider was killed.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    stop: watch::Receiver<Stop>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, stop: watch::Receiver<Stop>) -> Self {
        Self { stream, stop }
    }

    /// Whether the peer speaks HTTP/2 without being asked (RFC 9113, 3.4): it begins with `PRI`, which is no
    /// method. Reads nothing.
    pub(crate) async fn begins_with_h2(&self) -> io::Result<bool> {
        let mut first = [0; 3];
        loop {
            let n = self.stream.peek(&mut first).await?;
            if n == first.len() || n == 0 || !b"PRI".starts_with(&first[..n]) {
                return Ok(n == first.len() && &first == b"PRI");
            }
            // One or two bytes of a preface: the rest is on its way, and `peek` would return at once again.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if *self.stop.borrow() == Stop::Reset {
            // Best effort: a connection that is already dead has nothing to reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
