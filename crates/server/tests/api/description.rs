//! The description of the API that the dashboard's types are made from is the one that the server serves.

use std::path::Path;

#[test]
fn the_file_is_what_the_server_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json");
    let mut now = serde_json::to_string_pretty(&interlock_server::openapi()).unwrap();
    now.push('\n');
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == now,
        "web/openapi.json is not what the server says; run with UPDATE_OPENAPI=1 to write it anew"
    );
}
