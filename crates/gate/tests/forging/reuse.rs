use interlock_gate::{KillSwitch, Permit};

fn run_twice(permit: Permit, now: jiff::Timestamp) {
    let _ = permit.begin(KillSwitch::Released, now);
    let _ = permit.begin(KillSwitch::Released, now);
}

fn main() {}
