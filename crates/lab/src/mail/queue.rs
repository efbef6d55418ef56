//! The queues of Postfix: messages wait in them until they are delivered.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const MOST: usize = 20_000;
/// How many seconds are caught up with at most.
const LONGEST: i64 = 600;
/// How often a message arrives that finds the relay down, in seconds.
const ARRIVAL: i64 = 2;
const DOMAINS: [&str; 4] = [
    "example.com",
    "example.org",
    "mail.example.net",
    "lists.example.com",
];
/// The limits of the columns of `qshape`, in minutes.
const AGES: [i64; 9] = [5, 10, 20, 40, 80, 160, 320, 640, 1280];

/// Which queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Active,
    Incoming,
    Deferred,
    Hold,
}

impl Queue {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "active" => Some(Self::Active),
            "incoming" => Some(Self::Incoming),
            "deferred" => Some(Self::Deferred),
            "hold" => Some(Self::Hold),
            _ => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Incoming => "incoming",
            Self::Deferred => "deferred",
            Self::Hold => "hold",
        }
    }
}

/// A message that waits.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    queue: Queue,
    pub(super) arrived: Timestamp,
    pub(super) size: u64,
    pub(super) sender: String,
    pub(super) receiver: String,
    reason: String,
    /// The server behind the gateway is to get it.
    inward: bool,
}

impl Message {
    pub(super) fn json(&self) -> Value {
        json!({
            "queue_name": self.queue.as_str(),
            "queue_id": self.id,
            "arrival_time": self.arrived.as_second(),
            "message_size": self.size,
            "sender": self.sender,
            "receiver": self.receiver,
            "reason": self.reason,
        })
    }

    fn domain(&self) -> &str {
        self.receiver.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

#[derive(Debug)]
pub(super) struct Queues {
    messages: Vec<Message>,
    relay_up: bool,
    seen: Timestamp,
    made: u64,
}

impl Queues {
    pub(super) fn new(now: Timestamp) -> Self {
        let mut queues = Self {
            messages: Vec::new(),
            relay_up: true,
            seen: now,
            made: 0,
        };
        for minutes in [3, 47, 190] {
            queues.add(now - SignedDuration::from_mins(minutes), false);
        }
        queues
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn set_relay_up(&mut self, up: bool) {
        self.relay_up = up;
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }

    fn add(&mut self, arrived: Timestamp, inward: bool) {
        if self.messages.len() >= MOST {
            return;
        }
        self.made += 1;
        let index = usize::try_from(self.made % DOMAINS.len() as u64).unwrap_or(0);
        let (receiver, sender) = if inward {
            (
                format!("user{}@lab.example", self.made % 23),
                format!("news{}@{}", self.made % 40, DOMAINS[index]),
            )
        } else {
            (
                format!("contact{}@{}", self.made % 40, DOMAINS[index]),
                format!("user{}@lab.example", self.made % 23),
            )
        };
        let reason = if inward {
            "connect to mailstore.lab.example[10.0.10.30]:25: Connection refused"
        } else {
            "host mx.example.com[192.0.2.25] said: 450 4.7.1 Try again later (in reply to RCPT TO command)"
        };
        self.messages.push(Message {
            id: format!("{:010X}", 0x4C_0000_0000 + self.made * 0x1_3A7F),
            queue: Queue::Deferred,
            arrived,
            size: 1800 + self.made * 7919 % 90_000,
            sender,
            receiver,
            reason: reason.to_owned(),
            inward,
        });
    }

    /// So many messages more, that came over the last hours.
    pub(super) fn fill(&mut self, count: usize, now: Timestamp) {
        let count = count.min(MOST);
        for number in 0..count {
            let ago = i64::try_from((count - number) * 9000 / count.max(1)).unwrap_or(0);
            self.add(now - SignedDuration::from_secs(ago), true);
        }
    }

    /// What happened since it was looked at last: with the relay down, messages come and stay.
    pub(super) fn go_on(&mut self, now: Timestamp) {
        let passed = now.as_second().saturating_sub(self.seen.as_second());
        if passed < ARRIVAL {
            return;
        }
        self.seen = now;
        if self.relay_up {
            return;
        }
        for number in 0..passed.min(LONGEST) / ARRIVAL {
            self.add(now - SignedDuration::from_secs(number * ARRIVAL), true);
        }
    }

    pub(super) fn list(&self, queue: Queue) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.queue == queue)
    }

    pub(super) fn all(&self) -> &[Message] {
        &self.messages
    }

    /// Tries to deliver what is chosen. How many were; the others are tried again later.
    pub(super) fn deliver(&mut self, chosen: impl Fn(&Message) -> bool) -> usize {
        let before = self.messages.len();
        let relay_up = self.relay_up;
        // What others do not take yet stays: only the server behind is ours.
        self.messages
            .retain(|message| !(chosen(message) && message.inward && relay_up));
        before - self.messages.len()
    }

    pub(super) fn delete(&mut self, chosen: impl Fn(&Message) -> bool) -> usize {
        let before = self.messages.len();
        self.messages.retain(|message| !chosen(message));
        before - self.messages.len()
    }

    pub(super) fn has(&self, queue: Queue, id: &str) -> bool {
        self.list(queue).any(|message| message.id == id)
    }

    /// How old messages are, by domain; the sum first.
    pub(super) fn shape(&self, queues: &[Queue], now: Timestamp) -> Vec<Value> {
        let mut rows: Vec<(String, [u64; 11])> = vec![("TOTAL".to_owned(), [0; 11])];
        for message in self
            .messages
            .iter()
            .filter(|message| queues.contains(&message.queue))
        {
            let minutes = now.duration_since(message.arrived).as_mins();
            let column = AGES
                .iter()
                .position(|limit| minutes < *limit)
                .unwrap_or(AGES.len());
            let domain = message.domain();
            let row = rows
                .iter()
                .position(|(name, _)| name == domain)
                .unwrap_or_else(|| {
                    rows.push((domain.to_owned(), [0; 11]));
                    rows.len() - 1
                });
            for row in [0, row] {
                rows[row].1[0] += 1;
                rows[row].1[column + 1] += 1;
            }
        }
        rows[1..].sort_by_key(|(_, counts)| std::cmp::Reverse(counts[0]));
        rows.into_iter()
            .map(|(domain, counts)| row(&domain, &counts))
            .collect()
    }
}

fn row(domain: &str, counts: &[u64; 11]) -> Value {
    let mut row = json!({ "domain": domain, "total": counts[0] });
    for (limit, count) in AGES.iter().zip(&counts[1..]) {
        row[format!("{limit}m")] = json!(count);
    }
    row["1280m+"] = json!(counts[10]);
    row
}
