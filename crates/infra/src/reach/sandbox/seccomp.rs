//! The system call filter that `bwrap` installs on the other machine: a classic BPF program, made for its processor.
//!
//! It refuses sockets of every kind that the command did not declare, every way to signal or change another process, and
//! the calls that would go around the filter. Everything else passes: the mounts are what refuses writes.

use interlock_protocol::SocketKind;

/// The processor of the other machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// By what `uname -m` prints. Others have other numbers for their calls, so there is no filter for them.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// How the kernel marks calls of this processor (`AUDIT_ARCH_…`).
    const fn mark(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    const fn pick(self, numbers: (u32, u32)) -> u32 {
        match self {
            Self::X86_64 => numbers.0,
            Self::Aarch64 => numbers.1,
        }
    }
}

/// The number of `socket` on x86-64 and on 64-bit ARM; so in the lists below.
const SOCKET: (u32, u32) = (41, 198);
/// `socketpair`: one end of a pair of datagram sockets can send to any address.
const SOCKET_PAIR: (u32, u32) = (53, 199);

/// Refused, whatever the arguments.
const REFUSED: [(&str, (u32, u32)); 16] = [
    ("tkill", (200, 130)),
    ("tgkill", (234, 131)),
    ("rt_sigqueueinfo", (129, 138)),
    ("rt_tgsigqueueinfo", (297, 240)),
    ("pidfd_send_signal", (424, 424)),
    ("ptrace", (101, 117)),
    ("process_vm_writev", (311, 271)),
    // Its operations are not seen by any filter.
    ("io_uring_setup", (425, 425)),
    ("add_key", (248, 217)),
    ("request_key", (249, 218)),
    ("keyctl", (250, 219)),
    ("setpriority", (141, 140)),
    ("ioprio_set", (251, 30)),
    ("bpf", (321, 280)),
    ("perf_event_open", (298, 241)),
    ("open_by_handle_at", (304, 265)),
];

/// Refused unless the first argument is 0: the caller itself, or its own process group. `timeout` needs that much.
const OWN_ONLY: [(&str, (u32, u32)); 6] = [
    ("kill", (62, 129)),
    ("prlimit64", (302, 261)),
    ("sched_setparam", (142, 118)),
    ("sched_setscheduler", (144, 119)),
    ("sched_setaffinity", (203, 122)),
    ("sched_setattr", (314, 274)),
];

/// Calls from here on are those of another calling convention of the same processor (x32).
const OTHER_CONVENTION: u32 = 0x4000_0000;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
const KILL: u32 = 0x8000_0000;
/// `EPERM`.
const REFUSE: u32 = 0x0005_0001;

/// Where in what the kernel hands over the number, the processor and the first argument are.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const FIRST: u32 = 16;

/// One step of the program. Jumps name their place: distances are counted when all is known.
enum Step {
    Load(u32),
    IfEqual(u32, Place),
    UnlessEqual(u32, Place),
    IfAtLeast(u32, Place),
    End(u32),
    Here(Place),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Own,
    Socket,
    Refuse,
    Allow,
    Kill,
}

/// The families of addresses behind a kind of socket, by their numbers.
const fn families(kind: SocketKind) -> &'static [u32] {
    match kind {
        SocketKind::Unix => &[1],
        // Looking a name up asks the kernel for its addresses.
        SocketKind::Network => &[2, 10, 16],
        SocketKind::Netlink => &[16],
    }
}

/// The filter, as the bytes that the kernel reads.
pub(super) fn filter(processor: Processor, sockets: &[SocketKind]) -> Vec<u8> {
    let mut steps = vec![
        Step::Load(PROCESSOR),
        Step::UnlessEqual(processor.mark(), Place::Kill),
        Step::Load(NUMBER),
        Step::IfAtLeast(OTHER_CONVENTION, Place::Refuse),
        Step::IfEqual(processor.pick(SOCKET), Place::Socket),
        Step::IfEqual(processor.pick(SOCKET_PAIR), Place::Socket),
    ];
    let refused = REFUSED.iter().map(|(_, numbers)| processor.pick(*numbers));
    steps.extend(refused.map(|number| Step::IfEqual(number, Place::Refuse)));
    let own = OWN_ONLY.iter().map(|(_, numbers)| processor.pick(*numbers));
    steps.extend(own.map(|number| Step::IfEqual(number, Place::Own)));
    steps.push(Step::End(ALLOW));
    steps.extend([
        Step::Here(Place::Own),
        Step::Load(FIRST),
        Step::IfEqual(0, Place::Allow),
        Step::End(REFUSE),
        Step::Here(Place::Socket),
        Step::Load(FIRST),
    ]);
    let families = sockets.iter().flat_map(|kind| families(*kind));
    steps.extend(families.map(|family| Step::IfEqual(*family, Place::Allow)));
    steps.extend([
        Step::Here(Place::Refuse),
        Step::End(REFUSE),
        Step::Here(Place::Allow),
        Step::End(ALLOW),
        Step::Here(Place::Kill),
        Step::End(KILL),
    ]);
    assemble(&steps)
}

/// Counts the distances. Every place is at the end, and the program is shorter than a jump can be.
fn assemble(steps: &[Step]) -> Vec<u8> {
    let real = |step: &&Step| !matches!(step, Step::Here(_));
    let position = |place: Place| {
        let before = steps
            .iter()
            .take_while(|step| !matches!(step, Step::Here(here) if *here == place));
        before.filter(real).count()
    };
    let mut bytes = Vec::new();
    for (at, step) in steps.iter().filter(real).enumerate() {
        let away = |place: Place| u8::try_from(position(place).saturating_sub(at + 1)).unwrap_or(u8::MAX);
        let (code, if_true, if_false, value) = match step {
            Step::Load(from) => (LOAD, 0, 0, *from),
            Step::IfEqual(value, place) => (JUMP_IF_EQUAL, away(*place), 0, *value),
            Step::UnlessEqual(value, place) => (JUMP_IF_EQUAL, 0, away(*place), *value),
            Step::IfAtLeast(value, place) => (JUMP_IF_AT_LEAST, away(*place), 0, *value),
            Step::End(answer) => (RETURN, 0, 0, *answer),
            Step::Here(_) => continue,
        };
        // Both processors are little-endian.
        bytes.extend_from_slice(&code.to_le_bytes());
        bytes.extend_from_slice(&[if_true, if_false]);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel does.
    fn answer(program: &[u8], processor: u32, number: u32, first: u32) -> u32 {
        let word = |at: usize| u32::from_le_bytes(program[at..at + 4].try_into().unwrap());
        let mut held = 0;
        let mut at = 0;
        loop {
            let start = at * 8;
            let code = u16::from_le_bytes(program[start..start + 2].try_into().unwrap());
            let (if_true, if_false) = (program[start + 2], program[start + 3]);
            let value = word(start + 4);
            let jump = |yes: bool| usize::from(if yes { if_true } else { if_false });
            match code {
                LOAD => {
                    held = match value {
                        NUMBER => number,
                        PROCESSOR => processor,
                        FIRST => first,
                        other => panic!("loads {other}"),
                    }
                }
                JUMP_IF_EQUAL => at += jump(held == value),
                JUMP_IF_AT_LEAST => at += jump(held >= value),
                RETURN => return value,
                other => panic!("code {other}"),
            }
            at += 1;
        }
    }

    #[test]
    fn only_declared_sockets_pass_and_no_other_process_is_reached() {
        use SocketKind::{Netlink, Network, Unix};
        let kinds: [&[SocketKind]; 6] = [
            &[],
            &[Unix],
            &[Netlink],
            &[Network],
            &[Unix, Network],
            &[Unix, Netlink, Network],
        ];
        for processor in [Processor::X86_64, Processor::Aarch64] {
            for sockets in kinds {
                let program = filter(processor, sockets);
                assert!(program.len().is_multiple_of(8) && program.len() / 8 < 200);
                let ask = |number, first| answer(&program, processor.mark(), number, first);
                let open = |family| sockets.iter().any(|kind| families(*kind).contains(&family));
                for family in 0..45 {
                    let expected = if open(family) { ALLOW } else { REFUSE };
                    assert_eq!(
                        ask(processor.pick(SOCKET), family),
                        expected,
                        "{sockets:?} {family}"
                    );
                }
                for (name, numbers) in REFUSED {
                    assert_eq!(ask(processor.pick(numbers), 0), REFUSE, "{name}");
                }
                for (name, numbers) in OWN_ONLY {
                    assert_eq!(ask(processor.pick(numbers), 0), ALLOW, "{name}");
                    for other in [1, 4711, u32::MAX] {
                        assert_eq!(ask(processor.pick(numbers), other), REFUSE, "{name} {other}");
                    }
                }
                // Reading a file, and its like.
                assert_eq!(ask(0, 3), ALLOW);
                assert_eq!(ask(OTHER_CONVENTION | processor.pick(SOCKET), 1), REFUSE);
                assert_eq!(answer(&program, 0x4000_0003, 102, 1), KILL);
            }
        }
    }
}
