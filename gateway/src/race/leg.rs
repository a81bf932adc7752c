//! One leg of the race: an attempt between being sent and being committed or lost.
//!
//! States: on its way, then by what came back: a stream whose frames are held until its first token, a whole answer that
//! is collected (up to 4 MiB, then unchecked), or an error that is collected (up to 64 KiB). Inputs: bytes. Outputs:
//! [`Event`]s. Nothing is parsed twice and no byte is copied but the few chunks of a whole answer.
//!
//! Refuses: to decide. Who wins, retries or waits is the race's business.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use hedgerow_policy::time::Moment;
use http::response;
use http_body::Body as _;

use super::{
    attempt::{Attempt, End},
    failure::Failure,
    transport::{AnswerBody, Response, Sending},
};
use crate::{
    upstream::UpstreamError,
    wire::{
        complete::{self, Broken},
        contract,
        headers::{is_encoded, request_id},
        splice::UsageAsk,
        sse::Framer,
        token::{self, Signal},
    },
};

/// Largest frame of a stream: image partials reach MiBs (wire case A17).
pub const FRAME_LIMIT: usize = 16 * 1024 * 1024;
/// Largest whole answer that is checked before it is passed on.
const CHECKED_LIMIT: usize = 4 * 1024 * 1024;
/// Largest error body that is read.
const ERROR_LIMIT: usize = 64 * 1024;
/// `maxHeldBytes`: frames held of one streamed attempt before its first token.
const HELD_LIMIT: usize = 256 * 1024;

/// What happened on a leg.
pub enum Event {
    /// It may be committed: first token, or a valid whole answer.
    Valid,
    /// More than `maxHeldBytes` are held and there is no token yet.
    Overflow,
    /// It has lost.
    Failed(Box<Failure>),
}

/// One leg.
pub struct Leg {
    state: State,
    /// Its attempt; dropped after the connection, so that it books what was really seen.
    pub attempt: Attempt,
    usage_ask: UsageAsk,
    overflowed: bool,
}

enum State {
    Sending(Sending),
    Stream(Box<Held>),
    Whole(Box<Collected>),
    Error(Box<Collected>),
    Over,
}

/// A stream whose frames are held.
pub struct Held {
    /// Status and headers.
    pub head: response::Parts,
    /// The rest.
    pub body: AnswerBody,
    /// Cuts bytes into frames.
    pub framer: Framer,
    /// Frames to replay, exactly as received.
    pub frames: VecDeque<Bytes>,
    /// The provider has ended the stream.
    pub ended: bool,
    /// When the relay sent its last keep-alive comment.
    pub beat: Option<Moment>,
    bytes: usize,
}

/// A whole answer as far as it is there.
pub struct Collected {
    /// Status and headers.
    pub head: response::Parts,
    /// The rest, unless all is there.
    pub body: Option<AnswerBody>,
    /// What is there.
    pub bytes: BytesMut,
}

/// A leg's answer once it is committed.
pub enum Answer {
    /// A stream.
    Stream(Box<Held>, UsageAsk),
    /// A whole answer, or its beginning when it is too large to be checked.
    Whole(Box<Collected>),
}

impl Leg {
    /// A leg whose attempt is being sent.
    pub fn new(attempt: Attempt, sending: Sending, usage_ask: UsageAsk) -> Self {
        Self { state: State::Sending(sending), attempt, usage_ask, overflowed: false }
    }

    /// Whether the head of a usable answer is there, so that the leg could be committed as it is.
    pub fn committable(&self) -> bool {
        matches!(self.state, State::Stream(_))
    }

    /// The answer of the committed leg.
    pub fn commit(mut self) -> Option<(Attempt, Answer)> {
        self.attempt.committed = true;
        self.into_answer()
    }

    /// What is there of the answer; `None` before its head.
    pub fn into_answer(self) -> Option<(Attempt, Answer)> {
        let answer = match self.state {
            State::Stream(held) => Answer::Stream(held, self.usage_ask),
            State::Whole(collected) => Answer::Whole(collected),
            State::Sending(_) | State::Error(_) | State::Over => return None,
        };
        Some((self.attempt, answer))
    }

    /// Lets the leg go on as far as it can.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            match &mut self.state {
                State::Sending(sending) => match ready!(sending.as_mut().poll(cx)) {
                    Ok(response) => {
                        if let Err(failure) = self.opened(response) {
                            return self.lost(*failure);
                        }
                    }
                    Err(error) => return self.lost(Failure::transport(&error)),
                },
                State::Stream(_) => return self.poll_stream(cx),
                State::Whole(collected) => match ready!(collected.poll(cx, CHECKED_LIMIT)) {
                    Ok(true) => return self.check(),
                    // Too large to check but for its beginning: what is there is passed on with the rest.
                    Ok(false) => {
                        return match complete::begins(&collected.bytes) {
                            Err(broken) if !is_encoded(&collected.head.headers) => self.broken(&broken),
                            _ => self.valid(),
                        };
                    }
                    Err(error) => return self.lost(Failure::transport(&error)),
                },
                State::Error(collected) => {
                    let read = ready!(collected.poll(cx, ERROR_LIMIT));
                    let body = if read.is_ok() {
                        std::mem::take(&mut collected.bytes).freeze()
                    } else {
                        Bytes::new()
                    };
                    let failure = self.answered(&body);
                    return self.lost(failure);
                }
                State::Over => return Poll::Pending,
            }
        }
    }

    fn opened(&mut self, response: Response) -> Result<(), Box<Failure>> {
        let Response { head, body } = response;
        let now = self.attempt.action.now();
        self.attempt.first_byte = Some(now);
        self.attempt.status = Some(head.status);
        self.attempt.upstream_request_id = upstream_request_id(&head);
        self.attempt.answered(&head.headers);
        let streams = head.status.is_success() && is_event_stream(&head);
        if streams && !self.attempt.action.request.stream {
            let why = "the provider answers with a stream although a whole answer was asked for";
            return Err(Box::new(Failure::contract(why)));
        }
        self.state = if !head.status.is_success() {
            State::Error(Box::new(Collected { head, body: Some(body), bytes: BytesMut::new() }))
        } else if streams {
            State::Stream(Box::new(Held {
                head,
                body,
                framer: Framer::new(FRAME_LIMIT),
                frames: VecDeque::new(),
                ended: false,
                beat: None,
                bytes: 0,
            }))
        } else {
            State::Whole(Box::new(Collected { head, body: Some(body), bytes: BytesMut::new() }))
        };
        Ok(())
    }

    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            match self.next_held() {
                Step::Valid => return self.valid(),
                Step::Overflow => return Poll::Ready(Event::Overflow),
                Step::Failed(failure) => return self.lost(*failure),
                Step::NeedBytes => {}
            }
            let State::Stream(held) = &mut self.state else { return Poll::Pending };
            if held.ended {
                return self.lost(Failure::contract("the provider ended the stream before its first token"));
            }
            match ready!(held.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        held.framer.push(data);
                    }
                }
                Some(Err(error)) => return self.lost(Failure::transport(&error)),
                None => held.ended = true,
            }
        }
    }

    /// Reads held frames up to the first that decides something.
    fn next_held(&mut self) -> Step {
        let (State::Stream(held), Some(reader)) = (&mut self.state, self.attempt.reader.as_mut()) else {
            return Step::NeedBytes;
        };
        loop {
            let frame = match held.framer.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Step::NeedBytes,
                Err(_) => {
                    return Step::Failed(Box::new(Failure::contract(
                        "the provider sent an event that is too large",
                    )));
                }
            };
            let signal = reader.read(&frame);
            if let Signal::Error(_) = signal {
                let body = frame.data().map_or_else(Bytes::new, |data| Bytes::copy_from_slice(&data));
                let failure = Failure::answered(
                    self.attempt.action.dialect(),
                    &held.head,
                    &body,
                    self.attempt.action.runtime.clock.system_time(),
                );
                return Step::Failed(Box::new(failure));
            }
            if !token::strips(&signal, self.usage_ask) {
                held.bytes += frame.raw.len();
                held.frames.push_back(frame.raw);
            }
            if signal.commits() {
                return Step::Valid;
            }
            if held.bytes > HELD_LIMIT && !self.overflowed {
                self.overflowed = true;
                return Step::Overflow;
            }
        }
    }

    /// A whole answer is there: is it what the dialect promises?
    fn check(&mut self) -> Poll<Event> {
        let State::Whole(collected) = &self.state else { return Poll::Pending };
        if is_encoded(&collected.head.headers) {
            // Compressed although we asked for identity: passed on unchecked, with its header.
            self.attempt.end = End::Complete;
            return self.valid();
        }
        match complete::check(self.attempt.action.request.operation, &collected.bytes) {
            Ok(answer) => {
                let request = &self.attempt.action.request;
                let contract = self.attempt.action.snapshot.terms(request.cohort.as_deref()).contract;
                let schema = request.schema.as_deref();
                let held = contract::check(contract, request.operation, &answer, &collected.bytes, schema);
                if let Err(breach) = held {
                    self.attempt.offer.route.metrics.breach(&breach);
                    return self.lost(Failure::contract(breach.to_string()));
                }
                self.attempt.usage = answer.usage;
                self.attempt.end = End::Complete;
                self.valid()
            }
            Err(Broken::Error(_)) => {
                let body = Bytes::copy_from_slice(&collected.bytes);
                let failure = self.answered(&body);
                self.lost(failure)
            }
            Err(broken) => self.broken(&broken),
        }
    }

    fn broken(&mut self, broken: &Broken) -> Poll<Event> {
        self.lost(Failure::contract(format!("the provider's answer is not valid: {broken}")))
    }

    fn answered(&self, body: &Bytes) -> Failure {
        let (State::Whole(collected) | State::Error(collected)) = &self.state else {
            return Failure::contract("the provider's answer was lost");
        };
        let action = &self.attempt.action;
        Failure::answered(action.dialect(), &collected.head, body, action.runtime.clock.system_time())
    }

    fn valid(&mut self) -> Poll<Event> {
        let now = self.attempt.action.now();
        self.attempt.first_token(now);
        Poll::Ready(Event::Valid)
    }

    fn lost(&mut self, mut failure: Failure) -> Poll<Event> {
        self.state = State::Over;
        failure.attempt = self.attempt.number;
        failure.route.clone_from(&self.attempt.offer.route.config.name);
        let now = self.attempt.action.now();
        self.attempt.fail(&failure, now);
        Poll::Ready(Event::Failed(Box::new(failure)))
    }

    /// The race gives up on it.
    pub fn give_up(&mut self, failure: Failure) -> Box<Failure> {
        match self.lost(failure) {
            Poll::Ready(Event::Failed(failure)) => failure,
            _ => Box::new(Failure::timed_out()),
        }
    }
}

enum Step {
    Valid,
    Overflow,
    NeedBytes,
    Failed(Box<Failure>),
}

impl Collected {
    /// Reads on; `true` = the end, `false` = more than `limit` is there and the rest is still to come.
    fn poll(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<Result<bool, UpstreamError>> {
        loop {
            let Some(body) = self.body.as_mut() else { return Poll::Ready(Ok(true)) };
            match ready!(Pin::new(body).as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.bytes.extend_from_slice(&data);
                    }
                    if self.bytes.len() > limit {
                        return Poll::Ready(Ok(false));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => self.body = None,
            }
        }
    }
}

fn is_event_stream(head: &response::Parts) -> bool {
    let value = head.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

fn upstream_request_id(head: &response::Parts) -> String {
    let value = request_id(&head.headers);
    value.and_then(|value| value.to_str().ok()).unwrap_or_default().chars().take(128).collect()
}
