//! No other crate can build, copy or reuse a permit, or store what a session discovered.

#[test]
fn permits_cannot_be_forged() {
    trybuild::TestCases::new().compile_fail("tests/forging/*.rs");
}
