use super::*;

fn observed(status: ConditionStatus, message: &str) -> Observation {
    Observation {
        type_: ConditionType::Ready,
        status,
        reason: Reason::Ready,
        message: message.to_owned(),
        observed_generation: 3,
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

#[test]
fn the_transition_time_moves_only_with_the_status() {
    let mut list = Vec::new();
    assert!(set(&mut list, observed(ConditionStatus::True, "a"), at(10)));
    assert!(set(&mut list, observed(ConditionStatus::True, "b"), at(20)), "a new message is a change");
    assert_eq!(list[0].last_transition_time, Time(at(10)));
    assert!(set(&mut list, observed(ConditionStatus::False, "b"), at(30)));
    assert_eq!(list[0].last_transition_time, Time(at(30)));
    assert_eq!(list.len(), 1);
}

#[test]
fn the_same_observation_is_no_change() {
    let mut list = Vec::new();
    set(&mut list, observed(ConditionStatus::True, "a"), at(10));
    let before = list.clone();
    assert!(!set(&mut list, observed(ConditionStatus::True, "a"), at(99)));
    assert_eq!(list, before);
}

#[test]
fn foreign_conditions_stay_where_they_are() {
    let foreign = r#"{"type":"example.com/Mine","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z",
        "reason":"Why","message":""}"#;
    let mut list: Vec<Condition> = vec![serde_json::from_str(foreign).expect("a condition")];
    set(&mut list, observed(ConditionStatus::True, "a"), at(10));
    assert_eq!(list[0].type_, "example.com/Mine");
    assert!(is_true(&list, ConditionType::Ready));
    assert!(remove(&mut list, ConditionType::Ready));
    assert!(!remove(&mut list, ConditionType::Ready));
    assert_eq!(list.len(), 1);
}

#[test]
fn a_long_message_is_cut_at_a_character() {
    let mut list = Vec::new();
    set(&mut list, observed(ConditionStatus::True, &"é".repeat(MAX_MESSAGE)), at(10));
    assert!(list[0].message.len() <= MAX_MESSAGE);
    assert!(list[0].message.ends_with("é..."));
}

#[test]
fn every_reason_belongs_to_a_type_or_is_the_summary() {
    let owned: Vec<Reason> = [
        ConditionType::Accepted,
        ConditionType::ResolvedRefs,
        ConditionType::Programmed,
        ConditionType::Healthy,
        ConditionType::GuardrailBreached,
    ]
    .iter()
    .flat_map(|t| t.reasons().iter().copied())
    .collect();
    for reason in Reason::ALL {
        assert!(owned.contains(reason) || *reason == Reason::Ready, "{reason} is orphaned");
        assert_eq!(Reason::parse(reason.as_str()), Some(*reason));
    }
}
