fn main() {
    let _: interlock_gate::Permit = serde_json::from_str("{}").unwrap();
}
