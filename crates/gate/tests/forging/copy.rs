fn needs_clone<T: Clone>() {}

fn main() {
    needs_clone::<interlock_gate::Permit>();
    needs_clone::<interlock_gate::Started>();
}
