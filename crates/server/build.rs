//! The dashboard goes into the binary: when it was built anew, this crate is too.

fn main() {
    println!("cargo:rerun-if-changed=../../web/dist");
}
