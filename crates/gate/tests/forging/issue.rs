fn main() {
    let _ = interlock_gate::Permit::issue;
}
