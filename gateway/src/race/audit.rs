//! Losers: cancelled at once, or for a small share read to the end to learn what cancelling would have saved.
//!
//! An audited loser is read outside the user's permits by a task of its own, bounded by bytes, time and number
//! (`onCancel.audit`), and booked with what it really used.

use std::{sync::Arc, time::Duration};

use hedgerow_policy::draw::{Purpose, chance};
use http_body_util::BodyExt as _;

use super::{
    action::Action,
    attempt::{Attempt, End},
    leg::Leg,
    transport::AnswerBody,
};
use crate::wire::sse::Framer;

/// Lets a loser go.
pub fn release(action: &Arc<Action>, loser: Leg) {
    let rule = loser.attempt.offer.route.config.on_cancel;
    let share = u16::try_from(rule.audit_percent * 10).unwrap_or(1_000);
    if !chance(action.draw(Purpose::Audit), share) {
        return;
    }
    let most = u64::from(rule.audit_max_concurrent);
    let Some(held) = action.runtime.gauges.audits.hold_within(1, most) else { return };
    let Some((mut attempt, body, framer)) = loser.into_audit() else { return };
    attempt.audited = true;
    tokio::spawn(async move {
        let limit = Duration::from_millis(rule.audit_max_ms);
        let read = read(attempt, body, framer, rule.audit_max_bytes);
        // Past the limit the future is dropped, which cancels and books the attempt.
        let _ = tokio::time::timeout(limit, read).await;
        drop(held);
    });
}

/// Reads frames to the end or to `limit` bytes.
async fn read(mut attempt: Attempt, mut body: AnswerBody, mut framer: Framer, limit: u64) {
    let mut seen = 0_u64;
    loop {
        while let Ok(Some(frame)) = framer.next_frame() {
            if let Some(reader) = attempt.reader.as_mut() {
                reader.read(&frame);
            }
        }
        if attempt.reader.as_ref().is_some_and(crate::wire::token::StreamReader::complete) {
            attempt.end = End::Complete;
            return;
        }
        match body.frame().await {
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                seen += data.len() as u64;
                if seen > limit {
                    return;
                }
                framer.push(data);
            }
            Some(Err(_)) | None => return,
        }
    }
}
