//! Losers: cancelled at once, or for a small share read to the end to learn what cancelling would have saved.
//!
//! An audited loser is read outside the user's permits by a task of its own, bounded by bytes, time and number
//! (`onCancel.audit`), and booked with what it really used.

use std::{future::poll_fn, sync::Arc, time::Duration};

use hedgerow_policy::draw::{Purpose, chance};
use http_body_util::BodyExt as _;

use super::{
    action::Action,
    attempt::{Attempt, End},
    leg::{Answer, Event, Held, Leg},
};
use crate::wire::token::StreamReader;

/// Lets a loser go.
pub fn release(action: &Arc<Action>, mut loser: Leg) {
    let rule = loser.attempt.offer.route.config.on_cancel;
    let share = u16::try_from(rule.audit_percent * 10).unwrap_or(1_000);
    if !chance(action.draw(Purpose::Audit), share) {
        return;
    }
    let most = u64::from(rule.audit_max_concurrent);
    let Some(held) = action.runtime.gauges.audits.hold_within(1, most) else { return };
    loser.attempt.audited = true;
    tokio::spawn(async move {
        let limit = Duration::from_millis(rule.audit_max_ms);
        // Past the limit the future is dropped, which cancels and books the attempt.
        let _ = tokio::time::timeout(limit, read(loser, rule.audit_max_bytes)).await;
        drop(held);
    });
}

/// Lets a loser answer, and reads its stream to the end or to `limit` bytes.
async fn read(mut loser: Leg, limit: u64) {
    loop {
        match poll_fn(|cx| loser.poll(cx)).await {
            Event::Valid => break,
            Event::Overflow => {}
            Event::Failed(_) => return,
        }
    }
    // A whole answer is complete when it is valid.
    if let Some((attempt, Answer::Stream(held, _))) = loser.into_answer() {
        read_stream(attempt, *held, limit).await;
    }
}

async fn read_stream(mut attempt: Attempt, mut held: Held, limit: u64) {
    let mut seen = 0_u64;
    loop {
        while let Ok(Some(frame)) = held.framer.next_frame() {
            if let Some(reader) = attempt.reader.as_mut() {
                reader.read(&frame);
            }
        }
        if attempt.reader.as_ref().is_some_and(StreamReader::complete) {
            attempt.end = End::Complete;
            return;
        }
        match held.body.frame().await {
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                seen += data.len() as u64;
                if seen > limit {
                    return;
                }
                held.framer.push(data);
            }
            Some(Err(_)) | None => return,
        }
    }
}
