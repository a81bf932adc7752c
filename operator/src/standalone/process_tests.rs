//! Children made of a shell, so that dying, draining and hanging can be scripted.

use super::*;

fn launch(script: &str) -> Launch {
    Launch {
        command: GatewayCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), "sh".into()],
        },
        uid: "default-0".into(),
        config: "/c".into(),
        secrets: "/s".into(),
        listen: "127.0.0.1:8080".parse().unwrap(),
        admin: Admin::Free("127.0.0.1".parse().unwrap()),
        records: Records::Discard,
    }
}

async fn next(events: &mut mpsc::UnboundedReceiver<Event>) -> Event {
    time::timeout(Duration::from_secs(10), events.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_child_that_dies_is_reported_with_its_last_words_and_started_again() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let gateway = Gateway::start(launch("echo no such file >&2; exit 3"), sender);
    let mut starts = 0;
    let cause = loop {
        match next(&mut events).await {
            Event::Started { .. } => starts += 1,
            Event::Died { cause, retry_in, .. } if starts == 2 => {
                assert_eq!(retry_in, SHORTEST * 2, "the pause doubles");
                break cause;
            }
            _ => {}
        }
    };
    assert!(cause.contains("exit status: 3") && cause.contains("no such file"), "{cause}");
    gateway.stop(LONGEST).await;
}

#[tokio::test]
async fn only_what_was_said_at_the_end_is_the_cause() {
    use std::os::unix::process::ExitStatusExt as _;
    for (before, wanted) in
        [(900, "exit status: 3: late"), (1_000, "exit status: 3"), (90_000, "exit status: 3")]
    {
        let said = now() - Duration::from_millis(before);
        let last_line = tokio::spawn(async move { Some(("late".to_owned(), said)) });
        let cause = cause_of_death(Ok(ExitStatus::from_raw(3 << 8)), last_line).await;
        assert_eq!(cause, wanted, "{before} ms before");
    }
}

#[tokio::test]
async fn closing_stdin_drains_a_child_and_it_is_not_started_again() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let gateway = Gateway::start(launch("cat; echo drained >&2"), sender);
    assert!(matches!(next(&mut events).await, Event::Started { .. }));
    gateway.stop(LONGEST).await;
    assert!(matches!(next(&mut events).await, Event::Log { line, .. } if line == "drained"));
    assert!(events.recv().await.is_none(), "nothing happens afterwards");
}

#[tokio::test]
async fn a_child_that_does_not_drain_in_time_is_killed() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let gateway = Gateway::start(launch("exec sleep 600"), sender);
    assert!(matches!(next(&mut events).await, Event::Started { .. }));
    gateway.stop(Duration::from_millis(100)).await;
    assert!(matches!(next(&mut events).await, Event::Killed { .. }));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported_by_name() {
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut launch = launch("");
    launch.command.program = "/no/such/gateway".into();
    let gateway = Gateway::start(launch, sender);
    let Event::Died { cause, .. } = next(&mut events).await else { panic!("it cannot have started") };
    assert!(cause.contains("/no/such/gateway"), "{cause}");
    gateway.stop(LONGEST).await;
}
