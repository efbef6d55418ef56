fn store(context: &interlock_gate::ResolvedContext, session: &interlock_gate::Session) {
    let _ = serde_json::to_string(context);
    let _ = serde_json::to_string(session);
}

fn main() {}
