//! Clients of both protocols, who may leave at any moment.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Response, Version,
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, sync::Mutex, time::sleep};

use crate::plan::Plan;

/// What came of a user action.
#[derive(Debug)]
pub enum Seen {
    /// The client left.
    Left,
    /// Not even a status; why.
    Nothing(String),
    Answer(Answer),
}

/// An answer, as far as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The body came to its proper end.
    pub ended: bool,
    /// How it broke off, for people.
    pub broken: Option<String>,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// One connection, made again when it is gone. Cheap to clone: the streams of one connection share it.
#[derive(Clone)]
pub struct Link {
    gateway: SocketAddr,
    version: Version,
    /// Who leaves takes the connection along.
    alone: bool,
    sender: Arc<Mutex<Option<Sender>>>,
}

impl Link {
    pub fn new(gateway: SocketAddr, version: Version, alone: bool) -> Self {
        Self { gateway, version, alone, sender: Arc::default() }
    }

    /// Plays one user action.
    pub async fn play(&self, plan: &Plan) -> Seen {
        let exchange = self.exchange(plan);
        let seen = match plan.patience {
            None => exchange.await,
            Some(patience) => tokio::time::timeout(patience, exchange).await.unwrap_or(Ok(Seen::Left)),
        };
        let seen = seen.unwrap_or_else(|error| Seen::Nothing(format!("{error:?}")));
        if matches!(seen, Seen::Left) && self.alone {
            *self.sender.lock().await = None;
        }
        seen
    }

    async fn exchange(&self, plan: &Plan) -> Result<Seen, hyper::Error> {
        let request = plan.request(&self.gateway.to_string(), self.version);
        let response = match self.ready().await {
            Sender::One(mut sender) => {
                let response = sender.send_request(request).await?;
                *self.sender.lock().await = Some(Sender::One(sender));
                response
            }
            Sender::Two(mut sender) => sender.send_request(request).await?,
        };
        Ok(read(response, plan).await)
    }

    /// A connection that is open: the one of before, or a new one.
    async fn ready(&self) -> Sender {
        let mut kept = self.sender.lock().await;
        match kept.take() {
            Some(Sender::One(mut sender)) => {
                let open = sender.ready().await.is_ok();
                if open {
                    return Sender::One(sender);
                }
            }
            Some(Sender::Two(sender)) if !sender.is_closed() => {
                *kept = Some(Sender::Two(sender.clone()));
                return Sender::Two(sender);
            }
            _ => {}
        }
        let socket = TcpStream::connect(self.gateway).await.expect("an open traffic port");
        socket.set_nodelay(true).unwrap();
        if self.version == Version::HTTP_2 {
            let (sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.unwrap();
            tokio::spawn(connection);
            *kept = Some(Sender::Two(sender.clone()));
            return Sender::Two(sender);
        }
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        Sender::One(sender)
    }
}

async fn read(response: Response<Incoming>, plan: &Plan) -> Seen {
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    let broken = loop {
        if plan.enough.is_some_and(|enough| body.len() >= enough) {
            return Seen::Left;
        }
        if plan.slow {
            sleep(std::time::Duration::from_millis(20)).await;
        }
        match incoming.frame().await {
            Some(Ok(frame)) => body.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Some(Err(error)) => break Some(format!("{error:?}")),
            None => break None,
        }
    };
    Seen::Answer(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        ended: broken.is_none(),
        broken,
    })
}
