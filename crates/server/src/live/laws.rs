//! Whatever happens in whatever order: each reader sees each event of its channel after its place once, in order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlock_protocol::{ExecutionId, Sequence, SessionId};
use interlock_store::{Error, Placed};
use proptest::prelude::*;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

use super::channel::OF_SESSIONS;
use super::hub::Hub;
use super::mailbox::MAX_FRAMES;
use super::source::Source;
use super::subscriber::{MAX_CHANNELS, Next, PAGE, Refused};
use super::{Channel, Frame};

/// What is kept, in memory. Lets others run before and after each look, and fails when told to.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    events: Vec<Placed>,
    handed_out: usize,
    failures: u32,
}

fn session(number: u8) -> SessionId {
    SessionId::from_bytes([number; 16])
}

fn channel(number: u8) -> Channel {
    match number {
        0 => Channel::Sessions,
        other => Channel::Session(session(other)),
    }
}

fn is_in(channel: &Channel, event: &Placed) -> bool {
    match channel {
        Channel::Sessions => OF_SESSIONS.contains(&event.kind.as_str()),
        Channel::Session(session) => *session == event.session,
    }
}

impl Log {
    fn append(&self, number: u8, listed: bool) {
        let mut kept = self.0.lock().unwrap();
        let session = session(number);
        let before = kept
            .events
            .iter()
            .filter(|event| event.session == session)
            .count() as u64;
        let position = kept
            .events
            .last()
            .map_or(1, |event| event.position + 1 + u64::from(listed));
        kept.events.push(Placed {
            position,
            session,
            sequence: Sequence::new(before + 1),
            kind: if listed { "session.status" } else { "call.started" }.to_owned(),
            json: "{\"type\":\"x\"}".to_owned(),
        });
    }

    fn hand_out(&self, hub: &Hub, count: usize) {
        let events = {
            let mut kept = self.0.lock().unwrap();
            let from = kept.handed_out;
            kept.handed_out = kept.events.len().min(from + count);
            kept.events[from..kept.handed_out].to_vec()
        };
        hub.inner.hand_out(&events);
    }

    fn positions(&self, channel: &Channel, after: u64) -> Vec<u64> {
        let kept = self.0.lock().unwrap();
        let of_channel = kept.events.iter().filter(|event| is_in(channel, event));
        of_channel
            .map(|event| channel.position(event))
            .filter(|position| *position > after)
            .collect()
    }

    fn look(&self) -> Result<Vec<Placed>, Error> {
        let mut kept = self.0.lock().unwrap();
        if kept.failures > 0 {
            kept.failures -= 1;
            return Err(Error::Locked {
                store: interlock_store::Location::memory(),
            });
        }
        Ok(kept.events.clone())
    }

    pub(super) async fn stands(&self, channel: &Channel) -> Result<Option<u64>, Error> {
        yield_now().await;
        let events = self.look()?;
        yield_now().await;
        let of_channel = events.iter().filter(|event| match channel {
            Channel::Sessions => true,
            Channel::Session(session) => *session == event.session,
        });
        Ok(
            match (of_channel.map(|event| channel.position(event)).max(), channel) {
                (None, Channel::Session(_)) => None,
                (last, _) => Some(last.unwrap_or(0)),
            },
        )
    }

    pub(super) async fn page(&self, channel: &Channel, after: u64, limit: u32) -> Result<Vec<Placed>, Error> {
        yield_now().await;
        let events = self.look()?;
        yield_now().await;
        let wanted = |event: &Placed| is_in(channel, event) && channel.position(event) > after;
        Ok(events.into_iter().filter(wanted).take(limit as usize).collect())
    }
}

enum Command {
    Subscribe(Channel, Option<u64>),
    Unsubscribe(Channel),
    Report(oneshot::Sender<Vec<Seen>>),
}

/// What one subscription saw.
#[derive(Debug, Clone)]
struct Seen {
    channel: Channel,
    from: u64,
    positions: Vec<u64>,
    ended: bool,
}

async fn read(hub: Hub, mut commands: mpsc::UnboundedReceiver<Command>) {
    let mut subscriber = hub.subscriber();
    let mut seen: Vec<Seen> = Vec::new();
    let note = |seen: &mut Vec<Seen>, frame: &Frame| {
        let open = seen.iter_mut().rfind(|seen| seen.channel == *frame.channel());
        let open = open.expect("only what is watched comes");
        assert!(!open.ended, "{frame:?} came after the end");
        open.positions.extend(frame.position());
    };
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                None => return,
                Some(Command::Report(reply)) => {
                    let _ = reply.send(seen.clone());
                }
                Some(Command::Unsubscribe(channel)) => {
                    if subscriber.unsubscribe(&channel) {
                        seen.iter_mut().filter(|seen| seen.channel == channel).for_each(|seen| seen.ended = true);
                    }
                }
                Some(Command::Subscribe(channel, after)) => {
                    seen.iter_mut().filter(|seen| seen.channel == channel).for_each(|seen| seen.ended = true);
                    match subscriber.subscribe(&channel, after).await {
                        Ok(stands) => seen.push(Seen {
                            from: after.map_or(stands, |after| after.min(stands)),
                            channel,
                            positions: Vec::new(),
                            ended: false,
                        }),
                        Err(Refused::Unknown | Refused::Store(_)) => {}
                        Err(Refused::TooMany) => panic!("there are five channels"),
                    }
                }
            },
            next = subscriber.next() => match next {
                Next::Slow => panic!("nothing here is that much"),
                Next::Frames(frames) => frames.iter().for_each(|frame| {
                    subscriber.sent(frame);
                    note(&mut seen, frame);
                }),
            },
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Append(u8, bool),
    HandOut(u8),
    Subscribe(u8, u8, Option<u64>),
    Unsubscribe(u8, u8),
    Breathe(u8),
    Fail(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..4u8, any::<bool>()).prop_map(|(session, listed)| Step::Append(session, listed)),
        5 => (1..6u8).prop_map(Step::HandOut),
        3 => (0..3u8, 0..4u8, proptest::option::of(0..12u64))
            .prop_map(|(who, channel, after)| Step::Subscribe(who, channel, after)),
        1 => (0..3u8, 0..4u8).prop_map(|(who, channel)| Step::Unsubscribe(who, channel)),
        6 => (1..8u8).prop_map(Step::Breathe),
        1 => (1..3u32).prop_map(Step::Fail),
    ]
}

async fn play(before: usize, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let log = Log::default();
    for number in 0..before {
        log.append(u8::try_from(number % 3 + 1).unwrap(), number % 2 == 0);
    }
    let hub = Hub::over(Source::Log(log.clone()), 0);
    let mut readers = Vec::new();
    for _ in 0..3 {
        let (sender, commands) = mpsc::unbounded_channel();
        readers.push(sender);
        tokio::spawn(read(hub.clone(), commands));
    }
    let tell = |who: u8, command| drop(readers[usize::from(who)].send(command));
    for step in steps {
        match step {
            Step::Append(session, listed) => log.append(session, listed),
            Step::HandOut(count) => log.hand_out(&hub, usize::from(count)),
            Step::Subscribe(who, of, after) => tell(who, Command::Subscribe(channel(of), after)),
            Step::Unsubscribe(who, of) => tell(who, Command::Unsubscribe(channel(of))),
            Step::Breathe(times) => {
                for _ in 0..times {
                    yield_now().await;
                }
            }
            Step::Fail(times) => log.0.lock().unwrap().failures = times,
        }
    }
    log.hand_out(&hub, usize::MAX / 2);
    // The clock stands still until everybody waits: by then everything has come.
    tokio::time::sleep(Duration::from_mins(1)).await;
    for reader in &readers {
        let (reply, report) = oneshot::channel();
        let _ = reader.send(Command::Report(reply));
        for seen in report.await.expect("the reader is alive") {
            let expected = log.positions(&seen.channel, seen.from);
            if seen.ended {
                prop_assert!(expected.starts_with(&seen.positions), "{seen:?}, of {expected:?}");
            } else {
                prop_assert_eq!(&seen.positions, &expected, "{}", seen.channel);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn each_event_once_and_in_order(
        before in prop_oneof![0..20usize, 290..320usize],
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(before, steps))?;
    }
}

async fn positions(subscriber: &mut super::subscriber::Subscriber, until: usize) -> Vec<u64> {
    let mut all = Vec::new();
    while all.len() < until {
        let Next::Frames(frames) = subscriber.next().await else {
            panic!("too slow after {}", all.len());
        };
        for frame in frames {
            subscriber.sent(&frame);
            all.extend(frame.position());
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_goes_on_from_where_it_was() {
    let log = Log::default();
    log.append(1, true);
    let hub = Hub::over(Source::Log(log.clone()), 0);
    let mut slow = hub.subscriber();
    let own = channel(1);
    assert_eq!(slow.subscribe(&own, Some(0)).await.unwrap(), 1);
    assert_eq!(positions(&mut slow, 1).await, [1]);
    for _ in 0..MAX_FRAMES + 50 {
        log.append(1, false);
    }
    log.hand_out(&hub, usize::MAX / 2);
    assert!(matches!(slow.next().await, Next::Slow));
    let resume: Vec<_> = slow.resume().map(|(channel, at)| (channel.clone(), at)).collect();
    assert_eq!(resume, [(own.clone(), 1)]);
    drop(slow);
    let mut again = hub.subscriber();
    again.subscribe(&own, Some(1)).await.unwrap();
    let all = positions(&mut again, MAX_FRAMES + 50).await;
    assert!(all.iter().copied().eq(2..=MAX_FRAMES as u64 + 51));
}

#[tokio::test(start_paused = true)]
async fn the_past_does_not_starve_what_happens_nor_the_other_way_round() {
    let log = Log::default();
    for _ in 0..PAGE * 3 {
        log.append(1, false);
    }
    log.append(2, false);
    let hub = Hub::over(Source::Log(log.clone()), 0);
    log.hand_out(&hub, usize::MAX / 2);
    let mut reader = hub.subscriber();
    reader.subscribe(&channel(2), None).await.unwrap();
    reader.subscribe(&channel(1), Some(0)).await.unwrap();
    let mut kinds = Vec::new();
    for _ in 0..4 {
        log.append(2, false);
        log.hand_out(&hub, 1);
        let Next::Frames(frames) = reader.next().await else {
            panic!("nothing here is that much");
        };
        kinds.push(frames[0].channel() == &channel(1));
    }
    assert_eq!(kinds, [false, true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_in_the_middle_of_a_text_has_the_whole_of_it() {
    let pieces = ["One ", "two ", "three ", "four ", "five ", "six"];
    for (joins, reads) in (0..=pieces.len()).flat_map(|joins| (0..4).map(move |reads| (joins, reads))) {
        let log = Log::default();
        for _ in 0..PAGE * 2 {
            log.append(1, false);
        }
        let hub = Hub::over(Source::Log(log.clone()), 0);
        log.hand_out(&hub, usize::MAX / 2);
        let mut reader = hub.subscriber();
        let mut frames = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            if number == joins {
                reader.subscribe(&channel(1), Some(0)).await.unwrap();
                // How far it is with the past when the next piece comes.
                for _ in 0..reads {
                    frames.extend(soon(&mut reader).await);
                }
            }
            let whose = (&session(1), &ExecutionId::from_bytes([1; 16]));
            hub.inner.hand_out_text(whose, "text", piece);
        }
        if joins == pieces.len() {
            reader.subscribe(&channel(1), Some(0)).await.unwrap();
        }
        loop {
            let more = soon(&mut reader).await;
            if more.is_empty() {
                break;
            }
            frames.extend(more);
        }
        let read = |frame: &Arc<Frame>| serde_json::from_str::<Value>(frame.text()).unwrap();
        let text: String = frames
            .iter()
            .map(read)
            .filter_map(|frame| frame["delta"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(text, pieces.concat(), "joins at {joins}, after {reads} pages");
        assert_eq!(
            frames.iter().filter(|f| f.position().is_some()).count(),
            2 * PAGE as usize
        );
    }
}

/// What comes next; nothing if nothing does.
async fn soon(reader: &mut super::subscriber::Subscriber) -> Vec<Arc<Frame>> {
    match tokio::time::timeout(Duration::from_secs(1), reader.next()).await {
        Ok(Next::Frames(frames)) => frames,
        Ok(Next::Slow) => panic!("nothing here is that much"),
        Err(_) => Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn no_reader_watches_without_end_and_none_watches_what_is_not_there() {
    let log = Log::default();
    for number in 0..=u8::MAX {
        log.append(number, true);
    }
    let hub = Hub::over(Source::Log(log.clone()), 0);
    let mut reader = hub.subscriber();
    let unknown = Channel::Session(SessionId::from_bytes(*b"nobody made this"));
    assert!(matches!(
        reader.subscribe(&unknown, None).await,
        Err(Refused::Unknown)
    ));
    let mut watched = 0;
    for number in 0..=u8::MAX {
        let own = Channel::Session(session(number));
        match reader.subscribe(&own, None).await {
            Ok(_) => watched += 1,
            Err(error) => assert!(matches!(error, Refused::TooMany), "{error}"),
        }
    }
    assert_eq!(watched, MAX_CHANNELS);
    assert!(matches!(
        reader.subscribe(&Channel::Sessions, None).await,
        Err(Refused::TooMany)
    ));
    // Again is not one more.
    reader
        .subscribe(&Channel::Session(session(9)), Some(0))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_gone_ends_with_one_frame_and_the_others_go_on() {
    let log = Log::default();
    for number in [1, 1, 2] {
        log.append(number, true);
    }
    let hub = Hub::over(Source::Log(log.clone()), 0);
    let mut reader = hub.subscriber();
    let (gone, stays) = (channel(1), channel(2));
    for own in [&gone, &stays] {
        reader.subscribe(own, None).await.unwrap();
    }
    log.append(1, true);
    log.append(2, true);
    log.hand_out(&hub, usize::MAX / 2);
    for _ in 0..2 {
        hub.inner.end(&gone);
    }
    let Next::Frames(frames) = reader.next().await else {
        panic!("nothing here is that much");
    };
    let last: Vec<_> = frames
        .iter()
        .map(|frame| (frame.channel(), frame.is_last()))
        .collect();
    assert_eq!(
        last,
        [(&gone, true)],
        "what waited of it is not handed out any more"
    );
    assert!(!hub.inner.is_watched(&gone));
    assert_eq!(positions(&mut reader, 1).await, [2]);
    // Whoever left before is told nothing.
    hub.inner.end(&stays);
    assert!(reader.unsubscribe(&stays));
    reader.subscribe(&stays, Some(1)).await.unwrap();
    assert_eq!(positions(&mut reader, 1).await, [2]);
}
