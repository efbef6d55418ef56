//! The public API and the errors name no database, no connection and no file path: another backend changes neither.
//!
//! Reads the sources of the crate: whatever is `pub` in them, and whatever is implemented for what is `pub`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use interlock_store::{Error, Location};
use syn::visit::{self, Visit};
use syn::{Attribute, File, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

/// What no public item may name, wherever it comes from.
const WORDS: [&str; 9] = [
    "rusqlite",
    "sqlite",
    "Path",
    "PathBuf",
    "Connection",
    "Transaction",
    "Fn",
    "FnMut",
    "FnOnce",
];
/// From where a public item may name nothing, under whichever name.
const ORIGINS: [&str; 3] = ["rusqlite", "std::path", "crate::sqlite"];

/// What the names of one file stand for.
type Names = BTreeMap<String, String>;

fn imports(tree: &UseTree, above: &str, names: &mut Names) {
    let below = |name: &syn::Ident| match above {
        "" => name.to_string(),
        above => format!("{above}::{name}"),
    };
    match tree {
        UseTree::Path(path) => imports(&path.tree, &below(&path.ident), names),
        UseTree::Name(name) if name.ident == "self" => {
            let last = above.rsplit("::").next().unwrap_or(above);
            names.insert(last.to_owned(), above.to_owned());
        }
        UseTree::Name(name) => drop(names.insert(name.ident.to_string(), below(&name.ident))),
        UseTree::Rename(name) => drop(names.insert(name.rename.to_string(), below(&name.ident))),
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, above, names)),
        UseTree::Glob(_) => {}
    }
}

/// Collects what the visited part of an item names and may not.
struct Named<'a> {
    names: &'a Names,
    found: BTreeSet<String>,
}

impl Named<'_> {
    fn path(&mut self, path: &str) {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let whole = match (self.names.get(first), rest) {
            (None, _) => path.to_owned(),
            (Some(first), "") => first.clone(),
            (Some(first), rest) => format!("{first}::{rest}"),
        };
        let within = |origin: &&str| whole == **origin || whole.starts_with(&format!("{origin}::"));
        if ORIGINS.iter().any(within) || whole.split("::").any(|word| WORDS.contains(&word)) {
            self.found.insert(whole);
        }
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        self.path(&words.join("::"));
        visit::visit_path(self, path);
    }

    // What a function does is its own business.
    fn visit_block(&mut self, _: &'ast syn::Block) {}
    fn visit_expr(&mut self, _: &'ast syn::Expr) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// The checked sources.
#[derive(Default)]
struct Checked {
    /// Types that are `pub`.
    public: BTreeSet<String>,
    /// How many public items were looked at.
    items: usize,
    wrong: Vec<String>,
}

impl Checked {
    fn named(&mut self, at: &str, names: &Names, look: impl FnOnce(&mut Named<'_>)) {
        let mut part = Named {
            names,
            found: BTreeSet::new(),
        };
        look(&mut part);
        self.items += 1;
        self.wrong
            .extend(part.found.iter().map(|word| format!("{at}: {word}")));
    }

    fn item(&mut self, file: &str, names: &Names, item: &Item) {
        let at = |name: &dyn std::fmt::Display| format!("{file}: {name}");
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                self.named(&at(&item.sig.ident), names, |named| {
                    named.visit_signature(&item.sig);
                });
            }
            Item::Struct(item) if is_public(&item.vis) => {
                self.named(&at(&item.ident), names, |named| {
                    named.visit_generics(&item.generics);
                });
                for (number, field) in item.fields.iter().enumerate() {
                    if is_public(&field.vis) {
                        let name = field
                            .ident
                            .as_ref()
                            .map_or(number.to_string(), ToString::to_string);
                        let at = at(&format!("{}.{name}", item.ident));
                        self.named(&at, names, |named| named.visit_type(&field.ty));
                    }
                }
            }
            Item::Enum(item) if is_public(&item.vis) => {
                for variant in &item.variants {
                    let at = at(&format!("{}::{}", item.ident, variant.ident));
                    self.named(&at, names, |named| named.visit_fields(&variant.fields));
                    if variant.attrs.iter().any(prints_a_path) {
                        self.wrong.push(format!("{at}: prints a path"));
                    }
                }
            }
            Item::Type(item) if is_public(&item.vis) => {
                self.named(&at(&item.ident), names, |named| named.visit_item_type(item));
            }
            Item::Const(item) if is_public(&item.vis) => {
                self.named(&at(&item.ident), names, |named| named.visit_type(&item.ty));
            }
            Item::Static(item) if is_public(&item.vis) => {
                self.named(&at(&item.ident), names, |named| named.visit_type(&item.ty));
            }
            Item::Trait(item) if is_public(&item.vis) => {
                for one in &item.items {
                    self.named(&at(&item.ident), names, |named| match one {
                        TraitItem::Fn(one) => named.visit_signature(&one.sig),
                        other => named.visit_trait_item(other),
                    });
                }
            }
            Item::Mod(item) => {
                if is_public(&item.vis) {
                    self.wrong.push(format!("{}: a public module", at(&item.ident)));
                }
                if !item.attrs.iter().any(is_test) {
                    for item in item.content.iter().flat_map(|(_, items)| items) {
                        self.item(file, names, item);
                    }
                }
            }
            Item::Use(item) if is_public(&item.vis) => {
                let mut exported = Names::new();
                imports(&item.tree, "", &mut exported);
                for (name, path) in exported {
                    self.named(&at(&name), names, |named| named.path(&path));
                }
            }
            Item::Impl(item) => self.implementation(file, names, item),
            _ => {}
        }
    }

    fn implementation(&mut self, file: &str, names: &Names, item: &syn::ItemImpl) {
        let name = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let name = name.unwrap_or_default();
        if !self.public.contains(&name) {
            return;
        }
        let at = format!("{file}: {name}");
        if let Some((_, implemented, _)) = &item.trait_ {
            self.named(&at, names, |named| named.visit_path(implemented));
        }
        self.named(&at, names, |named| named.visit_generics(&item.generics));
        for one in &item.items {
            let whole = item.trait_.is_some();
            match one {
                ImplItem::Fn(one) if whole || is_public(&one.vis) => {
                    let at = format!("{at}::{}", one.sig.ident);
                    self.named(&at, names, |named| named.visit_signature(&one.sig));
                }
                ImplItem::Type(one) if whole => {
                    self.named(&at, names, |named| named.visit_type(&one.ty));
                }
                ImplItem::Const(one) if whole || is_public(&one.vis) => {
                    self.named(&at, names, |named| named.visit_type(&one.ty));
                }
                _ => {}
            }
        }
    }
}

const fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_test(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    attribute.path().is_ident("cfg") && list.is_ok_and(|list| list.tokens.to_string() == "test")
}

/// Whether the words of an error come from a path rather than from a location.
fn prints_a_path(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    attribute.path().is_ident("error")
        && list.is_ok_and(|list| {
            let words = list.tokens.to_string();
            words.contains("display ()") || words.contains("display()")
        })
}

fn check<'a>(files: impl Iterator<Item = (&'a str, &'a File)> + Clone) -> Checked {
    let mut checked = Checked::default();
    for (_, file) in files.clone() {
        for item in &file.items {
            match item {
                Item::Struct(item) if is_public(&item.vis) => checked.public.insert(item.ident.to_string()),
                Item::Enum(item) if is_public(&item.vis) => checked.public.insert(item.ident.to_string()),
                _ => false,
            };
        }
    }
    for (name, file) in files {
        let mut names = Names::new();
        for item in &file.items {
            if let Item::Use(item) = item {
                imports(&item.tree, "", &mut names);
            }
        }
        file.items
            .iter()
            .for_each(|item| checked.item(name, &names, item));
    }
    checked
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            into.push(path);
        }
    }
}

#[test]
fn nothing_public_names_a_database_a_connection_or_a_path() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    paths.sort();
    let files: Vec<(String, File)> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            let text = fs::read_to_string(path).unwrap();
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, file)
        })
        .collect();
    let checked = check(files.iter().map(|(name, file)| (name.as_str(), file)));
    assert!(
        checked.public.len() > 60 && checked.items > 500,
        "{}",
        checked.items
    );
    assert_eq!(checked.wrong, Vec::<String>::new());
}

#[test]
fn each_way_to_leak_is_found() {
    let leaks = [
        "use std::path::Path; pub struct Store; impl Store { pub fn path(&self) -> &Path { todo!() } }",
        "pub struct Options { pub file: std::path::PathBuf }",
        "pub struct Options(pub Option<Vec<PathBuf>>);",
        "pub enum Error { Full { path: std::path::PathBuf } }",
        "pub enum Error { Database(rusqlite::Error) }",
        "pub enum Error {} impl From<rusqlite::Error> for Error { fn from(_: rusqlite::Error) -> Self { todo!() } }",
        "use rusqlite::Error as Said; pub enum Error {} impl From<Said> for Error {}",
        "use rusqlite::Connection as Handle; pub fn look(work: &dyn Work<Handle>) {}",
        "use std::path as places; pub fn open(at: &places::Path) {}",
        "use rusqlite::{self as db}; pub fn open() -> db::Result<()> { todo!() }",
        "use crate::sqlite::Handle; pub fn open() -> Handle { todo!() }",
        "pub use rusqlite::Error as Database;",
        "pub use sqlite::Backend;",
        "pub mod sqlite;",
        "pub type Row<'a> = rusqlite::Row<'a>;",
        "pub const HERE: &Path = todo!();",
        "pub static HERE: Option<PathBuf> = None;",
        "pub struct Location; impl AsRef<Path> for Location {}",
        "pub struct Store; impl std::ops::Deref for Store { type Target = Connection; }",
        "pub trait Backend { fn connection(&self) -> &Connection; }",
        "pub trait Backend { type Handle: Into<rusqlite::Connection>; }",
        "pub fn with<F>(work: F) where F: FnOnce(u8) {}",
        "pub async fn read(work: impl Fn(&Transaction<'_>)) {}",
        "pub struct Store<T: Fn()>(T);",
        "mod inner { pub fn open(at: &Path) {} }",
        "pub enum Error { #[error(\"`{}` is full\", path.display())] Full { path: Box<str> } }",
    ];
    for text in leaks {
        let file = syn::parse_file(text).unwrap();
        assert!(
            !check([("lib.rs", &file)].into_iter()).wrong.is_empty(),
            "not found: {text}"
        );
    }
    let allowed = [
        "use std::path::Path; pub fn open(at: &str) { let path = Path::new(at); }",
        "use std::path::PathBuf; pub struct Location(PathBuf); struct Inner { pub path: PathBuf }",
        "pub struct Store { pub(crate) path: PathBuf } impl Store { pub(crate) fn path(&self) -> &Path { todo!() } }",
        "enum Fault {} impl From<rusqlite::Error> for Fault {}",
        "#[cfg(test)] mod tests { pub fn open(at: &Path) {} }",
        "pub enum Error { #[error(\"`{store}` is full\")] Full { store: Location } }",
        "pub struct PathOfEvents; pub fn transaction() -> ConnectionLimits { todo!() }",
    ];
    for text in allowed {
        let file = syn::parse_file(text).unwrap();
        assert_eq!(
            check([("lib.rs", &file)].into_iter()).wrong,
            Vec::<String>::new(),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_its_store_as_the_configuration_does() {
    let at = || "sqlite:/var/lib/a.db".parse::<Location>().unwrap();
    let reason = || "x".to_owned();
    let errors = [
        Error::IsDirectory { store: at() },
        Error::Folder {
            store: at(),
            reason: reason(),
        },
        Error::Missing { store: at() },
        Error::NotADatabase { store: at() },
        Error::Foreign { store: at() },
        Error::Corrupt {
            store: at(),
            what: reason(),
        },
        Error::ReadOnly { store: at() },
        Error::Denied {
            store: at(),
            reason: reason(),
        },
        Error::Full { store: at() },
        Error::Locked { store: at() },
        Error::Io {
            store: at(),
            reason: reason(),
        },
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("`sqlite:/var/lib/a.db`"), "{text}");
    }
    assert_eq!(format!("{:?}", at()), "Location(sqlite:/var/lib/a.db)");
}

#[test]
fn a_relative_file_is_relative_to_the_folder_of_the_configuration() {
    let cases = [
        ("sqlite:a.db", "sqlite:/etc/interlock/a.db"),
        ("sqlite:b/../a.db", "sqlite:/etc/interlock/b/../a.db"),
        ("sqlite:/var/a.db", "sqlite:/var/a.db"),
        ("sqlite::memory:", "sqlite::memory:"),
    ];
    for (text, expected) in cases {
        let location: Location = text.parse().unwrap();
        assert_eq!(location.relative_to("/etc/interlock").to_string(), expected);
    }
}
