//! What the table allows, run for real: none of it writes, connects or opens a secret unsaid.
//!
//! The `allow` examples run in a root of our own with a fixed set of programs: each by bash with the machine's copies of these
//! programs, and by busybox with its own. Two watches look on: no file of the root may change; and where `strace` is installed,
//! no system call may try to write, to reach a socket that the verdict does not name, or to open a secret that it does not
//! mention. `make audit-table` does the same with every program that a machine happens to have.

use crate::root::Root;
use crate::table;

#[test]
fn what_the_table_allows_does_not_write() {
    let Some(root) = Root::make() else { return };
    let examples = table::allowed();
    let mut commands = Vec::new();
    for shell in root.shells(&["bash", "busybox"]) {
        let runs = examples
            .iter()
            .filter(|text| table::program(text).is_none_or(|program| root.finds(shell, program)));
        commands.extend(runs.map(|text| (text.clone(), shell)));
    }
    let runs = root.run(&commands);
    println!(
        "{} examples; {} runs with {}",
        examples.len(),
        commands.len(),
        root.equipment()
    );
    let wrong = root.unsaid(&runs);
    assert!(
        wrong.is_empty(),
        "{} attempts:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
