//! Well-known files that hold secrets without saying so in a key.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::finder::{Find, Finder, Scope, first_group, matches};
use crate::placeholder::{is_chosen, is_path, is_placeholder, is_prose_word, is_random, is_strong};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, base64, keys};

pub(crate) const FINDERS: &[Finder] = &[
    // crypt(3), htpasswd and the hashes of common libraries, wherever they stand.
    Finder {
        kind: Kind::PasswordHash,
        anchors: &[
            "$1$", "$5$", "$6$", "$7$", "$2a", "$2b", "$2x", "$2y", "$y$", "$gy$", "$sha1", "$apr1",
            "$argon2", "$scrypt", "$pbkdf2",
        ],
        around: Around::Anything,
        trigger: r"\$(?:[1-7]|2[abxy]|y|gy|sha1|apr1|argon2|scrypt|pbkdf2)",
        pattern: r"\$(?:[1567]|2[abxy]|y|gy|sha1|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9_-]*)\$[./A-Za-z0-9$,=+-]{8,}",
        scope: Scope::Lines,
        find: Find::In(crate::finder::whole),
    },
    Finder {
        kind: Kind::PasswordHash,
        anchors: &["{s", "{m", "{c", "{p", "{h", "{l", "{b", "scram-sha-256$"],
        around: Around::Anything,
        trigger: r"\{(?i-u:s?sha|s?md5|crypt|pbkdf2|plain|clear|cram|hmac|ldap-md5|blf)|SCRAM-SHA-256\$",
        pattern: r"\{(?i-u:s?sha(?:256|384|512)?|s?md5|crypt|pbkdf2[a-z0-9-]*|(?:cram|hmac|plain|ldap)-md5|blf-crypt)\}([A-Za-z0-9+/=$.]{12,})|[:\x22'=\s]\{(?:PLAIN|CLEARTEXT|CLEAR|plain|cleartext)\}([^\s:\x22']{3,})|SCRAM-SHA-256\$[0-9]+:([A-Za-z0-9+/=$:]+)",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::PasswordHash,
        anchors: &["::", ":0", ":1", ":2", ":3", ":4", ":5", ":6", ":7", ":8", ":9"],
        around: Around::Numbers,
        trigger: r":[0-9]*:[0-9]*:[0-9]*:[0-9]*:",
        pattern: r"(?m)^[^:\s]+:([^:\s]{3,}):[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*:[0-9]*\r?$",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // crypt(3) of old, and htpasswd of old: a name, thirteen characters, and nothing else.
    Finder {
        kind: Kind::PasswordHash,
        anchors: &["\n"],
        around: Around::OldHash,
        trigger: r"(?m)[A-Za-z0-9._-]{1,32}:[./A-Za-z0-9]{13}\r?$",
        pattern: r"(?m)^[A-Za-z0-9._-]{1,32}:([./A-Za-z0-9]{13})\r?$",
        scope: Scope::Lines,
        find: Find::In(old_hash),
    },
    // Hashes of passwords of databases and Windows.
    Finder {
        kind: Kind::PasswordHash,
        anchors: &[
            "\n",
            "md5",
            "pbkdf2_sha",
            "$p$",
            "$h$",
            "$s$",
            ":0",
            ":1",
            ":2",
            ":3",
            ":4",
            ":5",
            ":6",
            ":7",
            ":8",
            ":9",
            ":a",
            ":b",
            ":c",
            ":d",
            ":e",
            ":f",
            ":x",
            "*0",
            "*1",
            "*2",
            "*3",
            "*4",
            "*5",
            "*6",
            "*7",
            "*8",
            "*9",
            "*a",
            "*b",
            "*c",
            "*d",
            "*e",
            "*f",
        ],
        around: Around::DigestOrEnd,
        trigger: r"(?m)md5[0-9a-f]{32}|\*[0-9A-F]{40}|:[0-9a-fA-FX]{32}:[0-9a-fA-F]{32}:|:[0-9a-f]{32}\r?$|pbkdf2_sha|\$(?:P|H|S)\$",
        pattern: r#"(?m)(?-u:\b)(md5[0-9a-f]{32})(?-u:\b)|(?:^|[\s'"])(\*[0-9A-F]{40})(?-u:\b)|:([0-9a-fA-FX]{32}:[0-9a-fA-F]{32}):|^[^:\s]{1,64}:[^:\n]{1,64}:([0-9a-f]{32})\r?$|(pbkdf2_sha[0-9]+\$[0-9]+\$[A-Za-z0-9+/=$]{16,})|(\$[PHS]\$[./A-Za-z0-9]{20,})"#,
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // Tokens of Proxmox, as a header, a ticket and a file (`token.cfg`, `token.shadow`).
    Finder {
        kind: Kind::ProxmoxToken,
        anchors: &["apitoken", "pve:", "pmg:", "pbs:", "@p"],
        around: Around::Anything,
        trigger: r"APIToken|PVE:|PMG:|PBS:|PVEAuthCookie|PMGAuthCookie|PBSAuthCookie|@p[avb][mes][!a-z]*![A-Za-z0-9_.-]+[ :=]",
        pattern: r"(?:P[VB][EMS]|PMG)APIToken[ =]+[^\s=:!]+![^\s=:]+[=:]([^\s\x22',;]+)|(?-u:\b)(?:PVE|PMG|PBS):[^\s:]+:[0-9A-Fa-f]{8}::([A-Za-z0-9+/=%]{16,})|[A-Za-z0-9_.-]{1,64}@(?:pam|pve|pbs)![A-Za-z0-9_.-]{1,64}[ :=]+\x22?([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Jwt,
        anchors: &["eyj"],
        around: Around::Anything,
        trigger: "eyJ",
        pattern: r"(?-u:\b)(?:eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki)[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)*|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*)",
        scope: Scope::Lines,
        find: Find::In(crate::finder::whole),
    },
    // Settings whose value stands behind a blank: redis, LDAP, keepalived, SNMP, HAProxy, network devices, `.netrc` by lines.
    Finder {
        kind: Kind::Password,
        anchors: &[
            "pass",
            "masterauth",
            "rootpw",
            "sshpw",
            "bindpw",
            "community",
            "psk",
            "key-string",
            "secret",
            "stats",
            "token",
            "adminpw",
            "-server",
        ],
        around: Around::Spaced,
        trigger: r"(?i)(?:requirepass|masterauth|rootpw|sshpw|bindpw|auth_pass|community6?|key-string|password|passwd|passphrase|secret|psk|stats[ \t]+auth|token|adminpw|authpass|privpass|smtp_pass|-server[ \t]+key|-server[ \t]+host[ \t][^\n]*[ \t]key)[ \t]+\S",
        pattern: r"(?im)^[ \t]*(?:config[ \t]+set[ \t]+)?(?:((?:requirepass|masterauth|(?:rootpw|sshpw)(?:[ \t]+--[a-z-]+(?:=[^\s]+)?)*|bindpw|auth_pass|wpa-psk|wpa-passphrase|insecure-password|key-string|rocommunity6?|rwcommunity6?|snmp-server[ \t]+community|adminpw|authpass|privpass|sasl_passwd|smtp_pass|enable[ \t]+(?:secret|password)(?:[ \t]+[0-9])?|username[ \t]+[^\s]+(?:[ \t]+privilege[ \t]+[0-9]+)?[ \t]+(?:secret|password)(?:[ \t]+[0-9])?|neighbor[ \t]+[^\s]+[ \t]+password(?:[ \t]+[0-9])?|user[ \t]+[^\s]+[ \t]+(?:insecure-)?password|(?:radius|tacacs)-server(?:[ \t]+host[ \t]+[^\s]+(?:[ \t]+[a-z-]+[ \t]+[0-9]+)*)?[ \t]+key(?:[ \t]+[0-9])?|set[ \t]+(?:psksecret|password|passwd|secret)(?:[ \t]+ENC)?|secret[ \t]+[0-9])[ \t]+|stats[ \t]+auth[ \t]+[^\s:]+:[ \t]*)|(password|passwd|passphrase|secret|psk|token)[ \t]+)(?:\x22([^\x22\n]+)\x22|'([^'\n]+)'|([^\s\x22';]+))([^\n]{0,80})",
        scope: Scope::Lines,
        find: Find::In(directive),
    },
    // ACLs of redis.
    Finder {
        kind: Kind::Password,
        anchors: &["user"],
        around: Around::Spaced,
        trigger: r"(?i-u:user)[ \t]+[^\s]+[ \t]+(?i-u:on|off|reset)[ \t]",
        pattern: r"(?i-u:\b(?:user|setuser))[ \t]+[^\s]+[ \t]+(?i-u:on|off|reset)(?:[ \t]+[^\s>#]+)*?[ \t]+[>#<!]([^\s]{3,})",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // A command of redis, and what its `MONITOR` shows.
    Finder {
        kind: Kind::Password,
        anchors: &["auth"],
        around: Around::Next(b" \t\""),
        trigger: r"(?i-u)auth\x22?[ \t]",
        pattern: r"(?m)^(?:[^\s>]*>[ \t]*|[0-9.]+ \[[^\]\n]*\][ \t]*)?(?:AUTH[ \t]+[a-z][A-Za-z0-9_-]{0,30}[ \t]+|\x22?(?:AUTH|auth)\x22?[ \t]+(?:\x22[^\x22\n]+\x22[ \t]+)?)\x22?([^\s\x22]{4,})\x22?[ \t]*\r?$",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // .pgpass
    Finder {
        kind: Kind::Password,
        anchors: &[":*:", ":54", ":6432:", ":15432:", ":25432:", ":26257:"],
        around: Around::Anything,
        trigger: r":(?:\*|54[0-9]{2}|6432|15432|25432|26257):[^\s:]+:[^\s:]+:",
        pattern: r"(?m)(?:^|[\s:\x22'])(?:[A-Za-z0-9._*-]+|\[[0-9a-fA-F:]+\]):(?:\*|54[0-9]{2}|6432|15432|25432|26257):[^:\s\[]+:[^:\s\[]*[A-Za-z*_][^:\s\[]*:((?:\\:|[^:\n\r\x22'])+?)[\x22']?\r?$",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // .netrc
    Finder {
        kind: Kind::Password,
        anchors: &["machine", "default", "login"],
        around: Around::Next(b" \t\n\r\x0b\x0c"),
        trigger: r"(?:machine\s+\S+|default|login\s+\S+)\s+(?:login|account|password)\s",
        pattern: r"(?-u:\b)(?:machine\s+\S+|default\s+login\s+\S+|login\s+\S+)(?:\s+(?:login|account)\s+\S+){0,3}\s+password\s+(\S+)",
        scope: Scope::Near,
        find: Find::In(first_group),
    },
    // Docker's config.json
    Finder {
        kind: Kind::DockerAuth,
        anchors: &["auth"],
        around: Around::Colon,
        trigger: r#"auth\\*["']?\s*[=:]|identitytoken|registrytoken"#,
        pattern: r#"(?:\\*["']?(?-u:\b)auth\\*["']?\s*:\s*\\*["']?|_auth[ \t]*=[ \t]*"?)([A-Za-z0-9+/_-]{6,}={0,2})"#,
        scope: Scope::Near,
        find: Find::In(docker),
    },
    // XML with the name and the value as attributes.
    Finder {
        kind: Kind::Password,
        anchors: &["value", "password", "secret", "token", "key", "pwd"],
        around: Around::Attribute,
        trigger: r#"(?i-u)(?:value|password|secret|token|key|pwd)[ \t]*=[ \t]*["']"#,
        pattern: r#"(?i-u:\b(?:name|key))[ \t]*=[ \t]*["']([A-Za-z0-9_.:-]+)["'][ \t]+(?i-u:value)[ \t]*=[ \t]*["']([^"'\n]+)["']"#,
        scope: Scope::Lines,
        find: Find::In(variable),
    },
    // An entry of a state of Terraform: the type or the name says what the value is.
    Finder {
        kind: Kind::Secret,
        anchors: &["sensitive"],
        around: Around::Anything,
        trigger: r#""sensitive(?:_values|_attributes)?""#,
        pattern: r#""value"\s*:\s*"((?:[^"\\\n]|\\.)+)"\s*,\s*"type"\s*:\s*"[a-z]+"\s*,\s*"sensitive"\s*:\s*true|"sensitive"\s*:\s*true\s*,\s*"type"\s*:\s*"[a-z]+"\s*,\s*"value"\s*:\s*"((?:[^"\\\n]|\\.)+)"|"type"\s*:\s*"[a-z]+"\s*,\s*"value"\s*:\s*"((?:[^"\\\n]|\\.)+)"\s*,\s*"sensitive"\s*:\s*true|"sensitive"\s*:\s*true\s*,\s*"value"\s*:\s*"((?:[^"\\\n]|\\.)+)"|"value"\s*:\s*"((?:[^"\\\n]|\\.)+)"\s*,\s*"sensitive"\s*:\s*true"#,
        scope: Scope::Near,
        find: Find::In(first_group),
    },
    // Objects whose name says that everything in them is a secret.
    Finder {
        kind: Kind::Secret,
        anchors: &["pass", "pw", "secret", "token", "key", "cred"],
        around: Around::Plural,
        trigger: r#"(?i-u)(?:pass|pw|secret|token|key|cred)[a-z0-9_.-]*s\\*["']?[ \t]*[:=]"#,
        pattern: r#"(?i-u)(?:pass|pw|secret|token|key|cred)[a-z0-9_.-]*s\\*["']?[ \t]*(?::[ \t]*(?:\{|\r?\n)|[:=][ \t]*\[)"#,
        scope: Scope::Starts,
        find: Find::From(container),
    },
    // A section of an INI or TOML file whose name says that everything in it is a secret.
    Finder {
        kind: Kind::Secret,
        anchors: &["secrets", "tokens", "passwords", "credentials", "creds"],
        around: Around::Next(b"]"),
        trigger: r"(?i-u)\[[a-z0-9_.-]*(?:secrets|tokens|passwords|credentials|creds)\]",
        pattern: r"(?im)^[ \t]*\[{1,2}[a-z0-9_.-]*(?:secrets|tokens|passwords|credentials|creds)\]{1,2}[ \t]*\r?\n",
        scope: Scope::Starts,
        find: Find::From(section),
    },
    // `createUser bob SHA "…" AES "…"` of snmpd.
    Finder {
        kind: Kind::Password,
        anchors: &["createuser"],
        around: Around::Next(b" \t"),
        trigger: "(?i-u)createuser[ \t]",
        pattern: r"(?i-u:createuser)[ \t]+(?:-e[ \t]+\S+[ \t]+)?\S+[ \t]+(?:MD5|SHA[0-9-]*)[ \t]+(?:\x22([^\x22\n]+)\x22|([^\s\x22]+))(?:[ \t]+(?:DES|AES[0-9-]*)[ \t]+(?:\x22([^\x22\n]+)\x22|([^\s\x22]+)))?",
        scope: Scope::Lines,
        find: Find::In(every_group),
    },
    // What a script of `expect` types, and what a client tells a service of IRC.
    Finder {
        kind: Kind::Password,
        anchors: &["send", "identify"],
        around: Around::Spaced,
        trigger: r"(?i-u)send[ \t]|nickserv",
        pattern: r"(?m)^[ \t]*(?:exp_)?send[ \t]+(?:--[ \t]+)?(?:\x22([^\x22\s\\$\[]+)\\[rn]|\{([^{}\s\\]+)\\r)|(?i-u:nickserv[ \t:]+identify)[ \t]+(?:[^\s]+[ \t]+)?([^\s]+)[ \t]*\r?$",
        scope: Scope::Lines,
        find: Find::In(typed),
    },
    // `<AdministratorPassword><Value>…</Value>`
    Finder {
        kind: Kind::Password,
        anchors: &["<value>"],
        around: Around::Anything,
        trigger: "<[Vv]alue>",
        pattern: r"<([A-Za-z0-9_.:-]{1,80})>\s*<[Vv]alue>\s*([^<>]+?)\s*</",
        scope: Scope::Near,
        find: Find::In(variable),
    },
    // A Secret of Kubernetes on one line, in the flow style of YAML.
    Finder {
        kind: Kind::KubernetesSecret,
        anchors: &["secret"],
        around: Around::Manifest,
        trigger: r"kind:[ \t]*Secret(?-u:\b)[^\n]*\{",
        pattern: r"kind:[ \t]*Secret(?-u:\b)[^\n]*?(?-u:\b)(?:data|stringData):[ \t]*\{([^{}\n]+)\}",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // A list of variables: `- name: DB_PASSWORD` / `value: …`
    Finder {
        kind: Kind::Password,
        anchors: &["value"],
        around: Around::Anything,
        trigger: "(?i-u)value",
        pattern: r#"(?i-u:(?:\b|parameter|option|setting|variable|_)(?:name|key)\b)\\*["']?[ \t]*:[ \t]*\\*["']?([A-Za-z0-9_.-]+)\\*["']?[ \t]*,?[ \t]*\r?\n?[ \t]*\\*["']?(?i-u:(?:parameter|option|setting|variable|_)?value)\\*["']?[ \t]*:[ \t]*(?:\\*"((?:[^"\\\n]|\\[^"])+)|'([^'\n]+)|([^\s"'\\{\[][^\n"]*))"#,
        scope: Scope::Near,
        find: Find::In(variable),
    },
    Finder {
        kind: Kind::Kubeconfig,
        anchors: &["certificate-authority-data"],
        around: Around::Anything,
        trigger: "certificate-authority-data",
        pattern: r#"certificate-authority-data\\*["']?[ \t]*:[ \t]*\\*["']?([A-Za-z0-9+/=_-]{8,})"#,
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // PEM within base64
    Finder {
        kind: Kind::PrivateKey,
        anchors: &["ls0tls1crudjti"],
        around: Around::Anything,
        trigger: "LS0tLS1CRUdJTi",
        pattern: "LS0tLS1CRUdJTi[A-Za-z0-9+/=]+",
        scope: Scope::Lines,
        find: Find::In(encoded_pem),
    },
    Finder {
        kind: Kind::WireguardKey,
        anchors: &["private", "preshared"],
        around: Around::Anything,
        trigger: "(?i-u)(?:private|preshared)[_ -]?key",
        pattern: r"(?i-u:(?:private|preshared)[_ -]?key)\\*[\x22']?[ \t]*[=: ][ \t]*\\*[\x22']?([A-Za-z0-9+/]{42,43}=)",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // ipsec.secrets, and the file of pppd with the same purpose.
    Finder {
        kind: Kind::Password,
        anchors: &["psk", "eap", "xauth", "ntlm"],
        around: Around::Anything,
        trigger: r"[: \t](?:PSK|EAP|XAUTH|NTLM)[ \t]+[\x220]",
        pattern: r"(?m):[ \t]*(?:PSK|EAP|XAUTH|NTLM)[ \t]+(?:\x22([^\x22\n]+)\x22|(0[xs][A-Za-z0-9+/=]{4,}))",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &[" *", "\t*", "\"*"],
        around: Around::Anything,
        trigger: r"(?m)[ \t]\x22?\*\x22?[ \t]*\r?$",
        pattern: r"(?m)^(?:\x22[^\x22\n]+\x22|[A-Za-z0-9_.@*-]+)[ \t]+(?:\x22[^\x22\n]*\x22|\*)[ \t]+(?:\x22([^\x22\n]{4,})\x22|([^\s\x22*]{4,}))[ \t]+\x22?\*\x22?[ \t]*\r?$",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // Postfix: `[smtp.example.com]:587 user:password`
    Finder {
        kind: Kind::Password,
        anchors: &["]:", "] ", "smtp", "mail", "relay"],
        around: Around::Anything,
        trigger: r"(?m)[\]A-Za-z0-9][ \t]+[^\s:/]+:[^\s/:]{4,}\r?$",
        pattern: r"(?m)^(?:(\[[A-Za-z0-9.-]+\](?::[0-9]+)?)|(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::[0-9]+)?)[ \t]+[A-Za-z0-9._%+@-]+:([^\s/:]{4,})\r?$",
        scope: Scope::Context,
        find: Find::In(sasl),
    },
    // `wg show wg0 dump`
    Finder {
        kind: Kind::WireguardKey,
        anchors: &["=\t"],
        around: Around::Anything,
        trigger: r"[A-Za-z0-9+/]{43}=\t",
        pattern: r"(?m)^(?:[^\t\n]{1,15}\t)?([A-Za-z0-9+/]{43}=)\t[A-Za-z0-9+/]{43}=\t[0-9]+\t|\t([A-Za-z0-9+/]{43}=)\t(?:\(none\)|[0-9a-fA-F.:\[\]]+)\t",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // cloud-init
    Finder {
        kind: Kind::Password,
        anchors: &["chpasswd"],
        around: Around::Anything,
        trigger: "chpasswd:",
        pattern: r"chpasswd:[ \t]*\r?\n[ \t]+list:[ \t]*[|>]-?[ \t]*\r?\n",
        scope: Scope::Text,
        find: Find::In(chpasswd),
    },
    Finder {
        kind: Kind::Secret,
        anchors: &["$ansible_vault"],
        around: Around::Anything,
        trigger: r"\$ANSIBLE_VAULT",
        pattern: r"\$ANSIBLE_VAULT;[^\n]{1,80}\n((?:[ \t]*[0-9a-f]{6,}[ \t]*\r?\n?)+)",
        scope: Scope::Text,
        find: Find::In(first_group),
    },
    // Keys of Ceph, wherever they stand.
    Finder {
        kind: Kind::PrivateKey,
        anchors: &["aq"],
        around: Around::Anything,
        trigger: "AQ[A-Za-z0-9+/]{36,38}==",
        pattern: r"(?-u:\b)(AQ[A-Za-z0-9+/]{36,38}==)",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Secret,
        anchors: &["network_key"],
        around: Around::Anything,
        trigger: "(?i-u)network_key",
        pattern: r"(?i-u:network_key)\\*[\x22']?[ \t]*[:=][ \t]*\[([0-9xa-fA-F, \t\r\n-]{8,})\]",
        scope: Scope::Near,
        find: Find::In(first_group),
    },
    // Passwords in mail, FTP and news protocols.
    Finder {
        kind: Kind::Password,
        anchors: &["login", "auth", "334 "],
        around: Around::Protocol,
        trigger: r"(?:AUTH|AUTHENTICATE|auth|authenticate)[ \t]+(?:PLAIN|XOAUTH2|LOGIN|CRAM-MD5|plain|login)[ \t]|[0-9][ \t]+(?:LOGIN|login)[ \t]|334 UGFzc3dvcmQ6",
        pattern: r"(?m)(?:AUTH|AUTHENTICATE|auth|authenticate)[ \t]+(?:PLAIN|XOAUTH2|LOGIN|CRAM-MD5|plain|login)[ \t]+([A-Za-z0-9+/]{8,}={0,2})|^(?:[A-Za-z]?[0-9]{1,6}|[A-Za-z]\.[0-9]{1,4})[ \t]+(?:LOGIN|login)[ \t]+(?:\x22[^\x22\n]*\x22|[^\s\x22]+)[ \t]+\x22?([^\s\x22]+)|334 UGFzc3dvcmQ6[^\n]{0,8}\n(?:C:|>|->|=>)?[ \t]*([A-Za-z0-9+/]{4,}={0,2})",
        scope: Scope::Near,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["pass "],
        around: Around::Anything,
        trigger: r"PASS[ \t]",
        pattern: r"(?m)^(?:[^A-Za-z\n]{0,24}|C:[ \t]*)PASS[ \t]+([^\s/]{4,})[ \t]*\r?$",
        scope: Scope::Lines,
        find: Find::In(protocol),
    },
    // debconf: `d-i passwd/root-password password …`
    Finder {
        kind: Kind::Password,
        anchors: &["password"],
        around: Around::Anything,
        trigger: r"/[^\s]+[ \t]+password[ \t]",
        pattern: r"(?m)^[ \t]*[a-z0-9.+-]+[ \t]+[^\s]+/[^\s]+[ \t]+password[ \t]+([^\n\r]+)",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // Tickets of Proxmox, and keys of a DNS update on a command line.
    Finder {
        kind: Kind::ProxmoxToken,
        anchors: &["authcookie"],
        around: Around::Anything,
        trigger: "AuthCookie",
        pattern: r"P[VBM][EGS]AuthCookie\\*[\x22']?[ \t]*[=:][ \t]*\\*[\x22']?(?:P[VBM][EGS](?::|%3[Aa])[^\s:%]+(?::|%3[Aa])[0-9A-Fa-f]{8}(?::|%3[Aa]){2})?([A-Za-z0-9+/=%_.-]{6,})",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Secret,
        anchors: &["-y "],
        around: Around::Anything,
        trigger: r"-y[ \t]",
        pattern: r"-y[ \t]+\x22?(?:hmac-[a-z0-9-]+:)?[A-Za-z0-9._-]+:([A-Za-z0-9+/]{8,}={0,2})",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    // A bootstrap token of kubeadm.
    Finder {
        kind: Kind::Token,
        anchors: &["token", "kubeadm", "join"],
        around: Around::Anything,
        trigger: r"(?-u:\b)[a-z0-9]{6}\.[a-z0-9]{16}(?-u:\b)",
        pattern: r"(?-u:\b)([a-z0-9]{6}\.[a-z0-9]{16})(?-u:\b)",
        scope: Scope::Context,
        find: Find::In(bootstrap),
    },
    // Tokens with a sign in their middle: Azure AD, Discord, Bitwarden.
    Finder {
        kind: Kind::VendorToken,
        anchors: &["q~"],
        around: Around::Anything,
        trigger: r"[0-9]Q~",
        pattern: r"(?:^|[^A-Za-z0-9_~.-])([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})",
        scope: Scope::Lines,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::VendorToken,
        anchors: &["discord", "bot", "token", "bws", "bitwarden"],
        around: Around::Anything,
        trigger: r"[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}|0\.[0-9a-f]{8}-[0-9a-f]{4}-",
        pattern: r"(?-u:\b)([MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})|(?-u:\b)(0\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/=]{20,})",
        scope: Scope::Context,
        find: Find::In(first_group),
    },
    Finder {
        kind: Kind::Password,
        anchors: &["pass", "secret", "token", "key", "pwd", "cred"],
        around: Around::Tag,
        trigger: "(?i-u)<[a-z0-9_.:-]*(?:pass|secret|token|key|pwd|cred)",
        pattern: r"<([A-Za-z0-9_.:-]{1,80})(?:[ \t][^<>\n]*)?>\s*(?:<!\[CDATA\[)?([^<>]+?)(?:\]\]>)?\s*</([A-Za-z0-9_.:-]{1,80})>",
        scope: Scope::Near,
        find: Find::In(element),
    },
];

fn sasl(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let row = start;
        start += line.len();
        // Two words are all that such a line has.
        let line = line.trim_end_matches(['\n', '\r']);
        let Some(blank) = line.find([' ', '\t']) else {
            continue;
        };
        let login = line[blank..].trim_start_matches([' ', '\t']);
        if login.is_empty() || login.contains(char::is_whitespace) {
            continue;
        }
        looked_at(line.len());
        if !within_budget() {
            return;
        }
        if let Some(captures) = regex.captures(line)
            && let Some(value) = captures.get(2)
            && !is_placeholder(value.as_str())
            && (captures.get(1).is_some() || is_random(value.as_str()))
        {
            spans.add(row + value.start()..row + value.end(), kind);
        }
    }
}

/// The lines below `chpasswd: list: |`, each a name and a password.
fn chpasswd(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        let mut at = found.end();
        for line in text[at..].split_inclusive('\n') {
            looked_at(line.len());
            let content = line.trim_end();
            let Some(colon) = content.find(':').filter(|_| line.starts_with([' ', '\t'])) else {
                break;
            };
            let value = content[colon + 1..].trim();
            if !is_placeholder(value) && value != "R" && value != "RANDOM" {
                let start = at + content.len() - value.len();
                spans.add(start..start + value.len(), kind);
            }
            at += line.len();
        }
    }
}

/// `PASS …` of a protocol. A test that passed says it in the same way, before a name.
fn protocol(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if let Some(value) = captures.get(1)
            && (is_random(value.as_str()) || is_chosen(value.as_str()))
        {
            spans.add(value.range(), kind);
        }
    }
}

/// Six and sixteen random characters: those of a file name have few digits.
fn bootstrap(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        let Some(token) = captures.get(1) else { continue };
        let secret = &token.as_str().as_bytes()[7..];
        let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
        let turns = secret
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count();
        if (3..=14).contains(&digits) && turns >= 4 {
            spans.add(token.range(), kind);
        }
    }
}

fn old_hash(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(hash) = captures.get(1) else { continue };
        let bytes = hash.as_str().as_bytes();
        let mixed = bytes.iter().any(u8::is_ascii_uppercase)
            && bytes.iter().any(u8::is_ascii_lowercase)
            && bytes
                .iter()
                .any(|byte| byte.is_ascii_digit() || b"./".contains(byte));
        if mixed {
            spans.add(hash.range(), kind);
        }
    }
}

/// Every group of what matches.
fn every_group(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        for group in captures.iter().skip(1).flatten() {
            if !is_placeholder(group.as_str()) {
                spans.add(group.range(), kind);
            }
        }
    }
}

/// A word that is typed where a password is asked for. Answers and commands are words without digits and signs.
fn typed(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if let Some(value) = captures.iter().skip(1).flatten().next()
            && (is_chosen(value.as_str()) || is_random(value.as_str()))
        {
            spans.add(value.range(), kind);
        }
    }
}

/// The values of a section of an INI or TOML file, to the next section.
fn section(regex: &Regex, text: &str, places: &[Range<usize>], kind: Kind, spans: &mut Spans) {
    for found in matches(regex, text, places) {
        let mut at = found.end();
        for line in text[at..].split_inclusive('\n') {
            looked_at(line.len());
            if !within_budget() {
                return;
            }
            if line.trim_start().starts_with('[') {
                break;
            }
            let row = at;
            at += line.len();
            let Some(equals) = line.find('=') else { continue };
            let name = line[..equals].trim().trim_matches(['"', '\'']);
            let raw = line[equals + 1..].trim();
            let value = raw.trim_matches(['"', '\'']);
            let secret = is_chosen(value) || is_random(value) || is_strong(value);
            if secret && !keys::is_reference(name) && !is_placeholder(value) && !is_path(value) {
                let start = row + equals + 1 + line[equals + 1..].find(value).unwrap_or(0);
                spans.add(start..start + value.len(), kind);
            }
        }
    }
}

/// `requirepass X`. Behind a common word the value must stand alone and look like no word of prose.
fn directive(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        let Some(value) = captures.iter().skip(3).take(3).flatten().next() else {
            continue;
        };
        let rest = captures.get(6).map_or("", |rest| rest.as_str().trim());
        let word = value.as_str();
        if is_placeholder(word) || word.starts_with(['=', ':']) || word.starts_with("--") {
            continue;
        }
        if captures.get(2).is_some() {
            let quoted = captures.get(3).or(captures.get(4)).is_some();
            let alone = rest.is_empty() || rest.starts_with(['#', ';']);
            let plain = word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b".,:;()".contains(&byte));
            let sign = word.starts_with(['=', ':', '-', '<', '[', '(', '{', '|', '/']);
            if !alone || (!quoted && plain) || sign || is_prose_word(word) || keys::kind_of(word).is_some() {
                continue;
            }
        } else if (is_prose_word(word) || matches!(word, "for" | "of" | "to" | "on" | "in" | "from" | "with"))
            && !rest.is_empty()
        {
            continue;
        }
        spans.add(value.range(), kind);
    }
}

/// What stands in `secrets: { … }`, on one line or as lines that are deeper than the name: strings, and no references.
fn container(regex: &Regex, text: &str, places: &[Range<usize>], kind: Kind, spans: &mut Spans) {
    let mut covered = 0;
    for found in matches(regex, text, places) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        let word = found
            .as_str()
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
            .count();
        let before = text.as_bytes()[..found.start()]
            .iter()
            .rev()
            .take(40)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
            .count();
        let start = found.start() - before;
        let name = &text[start..found.start() + word];
        if keys::holds_secrets(name).is_none() || start < covered {
            continue;
        }
        covered = if found.as_str().ends_with(['{', '[']) {
            container_json(text, found.end(), found.as_str().ends_with('['), kind, spans)
        } else {
            container_yaml(text, start, found.end(), kind, spans)
        };
    }
}

fn container_json(text: &str, at: usize, list: bool, kind: Kind, spans: &mut Spans) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 1_usize;
    let mut next = at;
    let mut key: Option<&str> = None;
    let mut expects_value = list;
    // The items of a list may be names: they must look like secrets.
    let mut in_list = list;
    while next < bytes.len() && depth > 0 {
        match bytes[next] {
            b'{' | b'[' => {
                depth += 1;
                expects_value = bytes[next] == b'[';
                in_list = expects_value;
            }
            b'}' | b']' => {
                depth -= 1;
                in_list = false;
            }
            b':' => {
                expects_value = true;
                in_list = false;
            }
            b',' => expects_value = in_list,
            b'"' | b'\'' => {
                let quote = bytes[next];
                let start = next + 1;
                let mut end = start;
                while end < bytes.len() && bytes[end] != quote && bytes[end] != b'\n' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                let end = text.floor_char_boundary(end.min(bytes.len()));
                let inside = text[start..end].trim_end_matches('\\');
                if expects_value {
                    let described =
                        key.is_some_and(keys::is_reference) && !in_list || (in_list && !is_random(inside));
                    if !described && !is_placeholder(inside) && !is_prose_word(inside) {
                        spans.add(start..start + inside.len(), kind);
                    }
                } else {
                    key = Some(inside);
                }
                next = end;
            }
            _ => {}
        }
        next += 1;
    }
    looked_at(next - at);
    next
}

fn container_yaml(text: &str, name: usize, at: usize, kind: Kind, spans: &mut Spans) -> usize {
    let near = text.ceil_char_boundary(name.saturating_sub(256));
    let line_start = text[near..name]
        .rfind('\n')
        .map_or(near, |newline| near + newline + 1);
    if !text[line_start..name]
        .trim_matches([' ', '\t', '"', '\'', '-'])
        .is_empty()
    {
        return 0;
    }
    let column = crate::yaml::indent_of(&text[line_start..name]);
    let mut next = at;
    for line in text[at..].split_inclusive('\n') {
        looked_at(line.len());
        let content = line.trim();
        if !content.is_empty() {
            let indent = crate::yaml::indent_of(line);
            if indent < column || (indent == column && !content.starts_with("- ")) {
                break;
            }
            // A name with a value; a bare item of a list is the name of a secret, unless it looks like one itself.
            if let Some(item) = content.strip_prefix("- ").filter(|item| !item.contains(' '))
                && is_random(item.trim_matches(['"', '\'']))
                && crate::yaml::entry(content).is_none()
            {
                let inside = item.trim_matches(['"', '\'']);
                let from = next + line.find(inside).unwrap_or(0);
                spans.add(from..from + inside.len(), kind);
            } else if let Some(entry) = crate::yaml::entry(line.trim_end_matches(['\n', '\r'])) {
                let raw = &line[entry.value.clone()];
                let value = raw.trim_end_matches(',').trim_matches(['"', '\'']);
                let from = entry.value.start + raw.find(value).unwrap_or(0);
                let opens = value.starts_with(['{', '[', '&', '*', '!', '|', '>']);
                let number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let described = keys::is_reference(entry.key) || opens || number || is_prose_word(value);
                if !value.is_empty() && !described && !is_placeholder(value) {
                    spans.add(next + from..next + from + value.len(), kind);
                }
            }
        }
        next += line.len();
    }
    next
}

fn docker(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        if let Some(value) = captures.get(1)
            && base64::is_login(value.as_str())
        {
            spans.add(value.range(), kind);
        }
    }
}

fn variable(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(kind) = captures.get(1).and_then(|name| keys::kind_of(name.as_str())) else {
            continue;
        };
        if let Some(value) = captures.iter().skip(2).flatten().next()
            && !is_placeholder(value.as_str())
        {
            let length = value.as_str().trim_end().len();
            spans.add(value.start()..value.start() + length, kind);
        }
    }
}

fn encoded_pem(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        if base64::is_private_key(found.as_str()) {
            spans.add(found.range(), kind);
        }
    }
}

/// `<password>…</password>`
fn element(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let (Some(open), Some(value), Some(close)) = (captures.get(1), captures.get(2), captures.get(3))
        else {
            continue;
        };
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        if open.as_str() != close.as_str() || is_placeholder(value.as_str()) {
            continue;
        }
        if let Some(kind) = keys::kind_of(open.as_str()) {
            spans.add(value.range(), kind);
        }
    }
}
