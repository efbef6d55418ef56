//! Texts that are made to be slow: for every rule its literal words repeated, opened and never closed, nested and in turn
//! with those of the other rules. The growth tests count what they cost, and the benchmark `worst` takes the time.

use std::collections::BTreeSet;

use crate::finder::Finders;
use crate::tokens;

/// Signs that open, close or part something.
const SIGNS: &[&str] = &[
    ":", "=", ": ", " ", "\n", "\"", "'", "\\\"", "{", "[", "(", "|\n  ", "@", ",", ";", "&", "%22", "<",
    ">", "- ", "\t", "\\", "${", "$",
];

/// The literal words of a pattern: runs of letters, digits and the signs that mean only themselves.
fn words(pattern: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_ascii_alphanumeric() || "_-:/ <=".contains(character) {
            word.push(character);
            continue;
        }
        if character == '\\' {
            characters.next();
        }
        if word.trim().len() >= 3 {
            found.insert(std::mem::take(&mut word));
        }
        word.clear();
    }
    if word.trim().len() >= 3 {
        found.insert(word);
    }
    found
}

/// Parts of texts that each rule reads far into, in the order in which they are tried.
pub fn seeds() -> Vec<String> {
    let mut seeds: BTreeSet<String> = BTreeSet::new();
    let literal: BTreeSet<String> = Finders::built_in()
        .into_iter()
        .flat_map(Finders::patterns)
        .flat_map(words)
        .collect();
    for word in &literal {
        for sign in SIGNS {
            seeds.insert(format!("{word}{sign}"));
        }
    }
    for (_, beginning) in tokens::beginnings() {
        seeds.insert(beginning.to_owned());
        seeds.insert(format!("{beginning}a"));
        seeds.insert(format!("{beginning}a1 "));
    }
    for shape in [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n",
        "-----BEGIN PRIVATE KEY-----\"",
        "Private-Lines: 1\nAAAA\n",
        "token:",
        "password=",
        "token=${",
        "token='${",
        "token=[\"${",
        "password=[\"password=[\",",
        "token: |\n token: |\n",
        "  data:\n  x:\n    data:\n    y:\n",
        "{\"data\":{",
        "{\"a\":{\"data\":{\"b\":\"c\"",
        "\"kind\":\"Secret\",",
        "apiVersion: v1\ndata:\n",
        "- data:\n  kind: Secret\n",
        "    a: b\nkind: Secret\n",
        "curl sshpass -p x ",
        "curl -u a ",
        "plink sshpass -p x ",
        "mysql redis-cli -a ",
        "docker sqlcmd -P x ",
        "echo a:password 'x' ",
        "://a:b",
        "://a:b@",
        "machine h login x ",
        "<password>",
        "secrets: {",
        "secrets:\n  a: b\n",
        "tokens: { tokens: { \"a\": \"b\",",
        "\u{1b}[1m",
        "\u{1b}]",
        "+a: b\n a: b\n",
        " a\n",
        "12:token:",
        "Authorization: x=1, ",
        "Cookie: a=",
        "$6$",
        "eyJhbGci.",
        "\\\\\\\\",
        "[masked:",
        "[masked:jwt]",
        "Nov 15 05:28:26 delly app[12]: token: a1\n",
        "    12\ttoken: a1\n",
        "\u{1b}[1mtoken\u{1b}[0m=a1 ",
        "\\\"token\\\":\\\"",
        "{\"data\":{\"a\":\"b\",",
        "  data:\n  x:\n    data:\n    y: Secret\n",
        "sk-ant-a1",
        "curl sshpass -p x mysql redis-cli -a ",
        "a=\"b\" ",
        "key=\"value\" ",
        "name: key\nvalue: x\n",
        "<key>a</key>",
        "auth:auth:auth",
        "password is ",
        "password for bob is a\n",
        "the token of the key is ",
        "credentials a / ",
        "a -u b -p ",
        "a -u b:c ",
        "echo a | b secret ",
        "echo a |",
        "<(echo a) ",
        "login(\"a\", \"b\" ",
        "[secrets]\na = b\n",
        "[secrets]\n",
        "send \"a\\r\n",
        "<a><Value>",
        "hmac(a, 'b",
        "kind: Secret data: {",
        "identified by a",
        "curl -b a=b; ",
        "a1b2c3d4e5f6g7h8i9j0",
        "api_key=a1B2c3D4e5F6g7H8i9J0 ",
        "x_key=a ",
        "1:2:3:4:5:6:7:8:9\n",
        ":0123456789abcdef",
        "*0123456789ABCDEF",
        "key.key-key_key ",
        "-key-key-key ",
        "keys\\\\\"",
        "mail a:bcde\n",
    ] {
        seeds.insert(shape.to_owned());
    }
    seeds.into_iter().collect()
}

/// Every third seed with one far from it in the order, which is another for each.
pub fn pairs() -> Vec<String> {
    let all = seeds();
    let pair = |(index, first): (usize, &String)| format!("{first}{}", all[(index * 31 + 17) % all.len()]);
    all.iter().enumerate().step_by(3).map(pair).collect()
}

/// One of every seed, on lines of their own: with this in front, every rule looks at a text.
pub fn everything() -> String {
    let mut all = String::new();
    for seed in seeds() {
        all.push_str(&seed);
        all.push('\n');
    }
    all
}

/// A text of at most so many bytes, and at least one seed.
pub fn repeated(seed: &str, bytes: usize) -> String {
    seed.repeat((bytes / seed.len()).max(1))
}
