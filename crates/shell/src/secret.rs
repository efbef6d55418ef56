//! Which files hold secrets, and which never end.

use std::sync::LazyLock;

use crate::pattern::{Token, overlap, tokens};
use crate::word::{Arg, Value};

/// Files whose content is a secret. `**` crosses directories, `*` does not; a pattern without a leading slash matches
/// the end of a path.
const SECRETS: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/security/opasswd",
    "/etc/master.passwd",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssl/private/**",
    "/etc/pki/tls/private/**",
    "/etc/letsencrypt/live/**",
    "/etc/letsencrypt/archive/**",
    "/etc/letsencrypt/keys/**",
    "/etc/letsencrypt/accounts/**",
    "/etc/ssh/ssh_host_*_key",
    "/etc/kubernetes/*.conf",
    "/etc/kubernetes/pki/**",
    "/etc/rancher/**",
    "/var/lib/rancher/**",
    "/var/lib/kubelet/**",
    "/var/lib/etcd/**",
    "/etc/pve/priv/**",
    "/etc/pve/local/pve-ssl.key",
    "/etc/wireguard/**",
    "/etc/openvpn/**",
    "/etc/ipsec.secrets",
    "/etc/ppp/*-secrets",
    "/etc/wpa_supplicant/**",
    "/etc/NetworkManager/system-connections/**",
    "/etc/krb5.keytab",
    "/etc/docker/key.json",
    "/etc/vault*/**",
    "/etc/cloudflared/**",
    ".cloudflared/**",
    "/var/lib/docker/swarm/**",
    "/run/secrets/**",
    "/var/run/secrets/**",
    "/proc/**/environ",
    "/proc/*/mem",
    "/proc/*/root/**",
    "/proc/*/cwd/**",
    "/proc/*/task/*/root/**",
    "/proc/*/task/*/cwd/**",
    "/proc/*/fd/**",
    "/proc/kcore",
    "/proc/keys",
    "/var/backups/*shadow*",
    "/etc/corosync/authkey",
    "/etc/pacemaker/authkey",
    "/etc/apt/auth.conf",
    "/etc/apt/auth.conf.d/**",
    "/run/credentials/**",
    "/etc/credstore*/**",
    "/var/lib/tailscale/**",
    "/var/lib/private/**",
    "/var/lib/samba/private/**",
    "/etc/samba/smbpasswd",
    "/etc/sssd/sssd.conf",
    "/etc/nslcd.conf",
    "/etc/exim4/passwd*",
    "/etc/iscsi/nodes/**",
    "/etc/swanctl/**",
    "/etc/ipsec.d/private/**",
    "/etc/hostapd/*.conf",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/dev/sd*",
    "/dev/hd*",
    "/dev/vd*",
    "/dev/xvd*",
    "/dev/nvme*",
    "/dev/dm-*",
    "/dev/mapper/**",
    "/dev/md*",
    "/dev/mmcblk*",
    "/dev/loop*",
    "/dev/disk/**",
    "/dev/zvol/**",
    "/root/.ssh/**",
    ".ssh/**",
    "/run/cloud-init/*sensitive*",
    "/var/lib/cloud/instance*/**/user-data*",
    "/var/lib/cloud/instance*/user-data*",
    "/var/lib/pve-cluster/**",
    "/etc/mosquitto/*passw*",
    "/etc/mosquitto/*pwfile*",
    "/etc/dovecot/*users*",
    "/etc/chrony.keys",
    "/etc/chrony/chrony.keys",
    "/etc/ntp.keys",
    "/etc/freeradius/**",
    "/etc/raddb/**",
    "/etc/gitlab-runner/**",
    "/etc/gitlab/**",
    "/etc/nut/upsd.users",
    "/etc/ups/upsd.users",
    ".config/hcloud/**",
    ".config/doctl/**",
    ".msmtprc",
    ".fetchmailrc",
    ".mutt/**",
    ".config/containers/auth.json",
    ".ssh/id_*",
    ".ssh/*_key",
    ".ssh/*.pem",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*_rsa",
    "*_ed25519",
    "*.key",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.keytab",
    "*.ppk",
    "*.asc",
    "*.gpg",
    ".gnupg/**",
    ".kube/config",
    ".kube/**",
    "kubeconfig*",
    "*.kubeconfig",
    ".aws/credentials",
    ".aws/**",
    ".azure/**",
    ".config/gcloud/**",
    ".config/rclone/**",
    "rclone.conf",
    ".config/gh/**",
    ".docker/config.json",
    ".dockercfg",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    "debian.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".vault-token",
    ".terraform.d/credentials*",
    ".terraformrc",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    ".env",
    ".env.*",
    "*.env",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    "*.keyring",
    "*sasl_passwd*",
    "wpa_supplicant*.conf",
    "auth.json",
    ".s3cfg",
    ".boto",
    ".passwd-s3fs",
    ".mylogin.cnf",
    ".m2/settings.xml",
    "*_history",
    "wp-config.php",
    "*.ovpn",
    "*.psk",
    "*.priv",
    "*.keyfile",
    ".acme.sh/**",
    ".vault_pass*",
    "htpasswd",
    ".htpasswd",
    "authinfo",
    "storage.cfg.priv",
    "node_token",
    "node-token",
    "join-token",
    "interlock.db*",
    "interlock.yaml",
    "/var/lib/docker/containers/*/config.v2.json",
    "/var/lib/containers/**/config.json",
    ".erlang.cookie",
    "krb5cc_*",
    "/etc/pgbouncer/userlist.txt",
    "userlist.txt",
    "/etc/luks/**",
    "/etc/cryptsetup-keys.d/**",
    "vault_pass*",
    ".vault_pass*",
    "msmtprc",
    ".config/helm/**",
    ".config/restic/**",
    "*.agekey",
    "patroni*.yml",
    "patroni*.yaml",
    "grafana.db*",
    "vaultwarden/**",
    "key3.db",
    "key4.db",
    "logins.json",
    "cookies.sqlite*",
    "Login Data",
    "Cookies",
    "gitea.db*",
    // Configuration that packages make unreadable for other users, because it holds passwords, or the environment.
    "/etc/environment",
    "/etc/environment.d/**",
    "/etc/netplan/**",
    "/lib/netplan/**",
    "/run/netplan/**",
    "/etc/redis/**",
    "/etc/redis*.conf",
    "/etc/valkey/**",
    "/etc/snmp/**",
    "/var/lib/snmp/**",
    "/etc/zabbix/zabbix_server*",
    "/etc/zabbix/zabbix_server*/**",
    "/etc/zabbix/zabbix_proxy*",
    "/etc/zabbix/zabbix_proxy*/**",
    "/etc/zabbix/web/**",
    "/etc/monitrc",
    "/etc/monit/**",
    "/etc/grafana/**",
    "/etc/gitea/**",
    "/etc/forgejo/**",
    "/etc/telegraf/**",
    "/etc/influxdb/**",
    "/etc/alertmanager/**",
    "/etc/prometheus/alertmanager.y*ml",
    "/etc/icinga2/**",
    "/etc/icingaweb2/**",
    "/etc/nagios/private/**",
    "/etc/bacula/**",
    "/etc/bareos/**",
    "/etc/burp/**",
    "/etc/pdns/**",
    "/etc/powerdns/**",
    "/etc/rabbitmq/**",
    "/etc/matrix-synapse/**",
    "/etc/turnserver.conf",
    "/etc/dovecot/*sql*",
    "/etc/dovecot/*ldap*",
    "/etc/postfix/*sql*",
    "/etc/postfix/*ldap*",
    "/etc/ssmtp/**",
    "/etc/fetchmailrc",
    "/etc/pgbouncer/**",
    "/etc/pgpool*/**",
    "/etc/dbconfig-common/**",
    "/etc/phpmyadmin/config-db.php",
    "/etc/roundcube/**",
    "/etc/clickhouse-server/**",
    "/etc/graylog/**",
    "/etc/libvirt/passwd.db",
    "/etc/sasldb2",
    "/etc/ldap.secret",
    "/etc/pam_ldap.conf",
    "/etc/boto.cfg",
    "/etc/keystone/**",
    "/etc/nova/**",
    "/etc/neutron/**",
    "/etc/cinder/**",
    "/etc/glance/**",
    "/etc/heat/**",
];

/// Folders in which also a certificate by its name is a secret: the file holds the token of an account.
const NEVER_PUBLIC: &[&str] = &[
    "/etc/cloudflared/**",
    ".cloudflared/**",
    "/var/lib/docker/swarm/**",
];

/// Names that promise a secret. A glob would always match one of these, so they count only where the name is known.
const TELLING: &[&str] = &[
    "*credential*",
    "*secret*",
    "*password*",
    "passwd-",
    "*private*key*",
    "*apikey*",
    "*api_key*",
];

/// Where a glob is taken to mean what usually lies there.
const ORDINARY: &[&str] = &[
    "/var/log/",
    "/proc/",
    "/sys/",
    "/usr/",
    "/lib/",
    "/boot/",
    "/var/cache/",
    "/var/spool/",
];

/// Secrets that are known by their bare name, for commands whose folder is not known.
const WELL_KNOWN: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/master.passwd",
    "/etc/sudoers",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/ipsec.secrets",
    "/proc/self/environ",
    "/proc/kcore",
    "/etc/corosync/authkey",
];

/// What the patterns above match by name but is public.
const PUBLIC: &[&str] = &[
    "*.pub",
    "*cert*.pem",
    "*chain*.pem",
    "*ca.pem",
    "*-ca.pem",
    "ca-*.pem",
    "*bundle*.pem",
    "common-password",
    "/etc/ssl/certs/**",
    "/usr/share/**",
    "/usr/lib/**",
    "/etc/pam.d/**",
];

/// Files that do something when they are merely opened or read: arm a watchdog, or hand out what others wait for.
const HARMFUL: &[&str] = &[
    "/dev/watchdog*",
    "/dev/kmsg",
    "/proc/kmsg",
    "/sys/kernel/**/trace_pipe*",
    "/dev/ptmx",
    "/dev/rtc*",
    "/dev/ppp",
    "/dev/net/tun",
    "/dev/hidraw*",
    "/dev/rfkill",
    "/dev/video*",
    "/dev/snd/**",
    "/dev/st*",
    "/dev/nst*",
];

/// Devices that act as soon as they are opened, before anything is read from them: a watchdog is armed, a tape rewinds, a
/// serial line raises its signals and resets what hangs on it, a drive closes its tray, the machine prepares to hibernate.
/// No program that opens what it is given may be given one of these, whatever it does with it.
const OPENING: &[&str] = &[
    "/dev/watchdog*",
    "/dev/ipmi_watchdog*",
    "/dev/st*",
    "/dev/tape*",
    "/dev/tape/**",
    "/dev/ttyS*",
    "/dev/ttyUSB*",
    "/dev/ttyACM*",
    "/dev/ttyAMA*",
    "/dev/ttyO*",
    "/dev/rfcomm*",
    "/dev/serial/**",
    "/dev/cu*",
    "/dev/sr*",
    "/dev/scd*",
    "/dev/cdrom*",
    "/dev/dvd*",
    "/dev/ptmx",
    "/dev/pts/ptmx",
    "/dev/ppp",
    "/dev/lp*",
    "/dev/usb/lp*",
    "/dev/snapshot",
    "/dev/mcelog",
    // Links to any of them, by their numbers.
    "/dev/char/**",
];

/// Devices that may be read. Any other one does something when it is opened or read: it resets a modem, takes a key stroke
/// from its reader, starts a camera, arms a watchdog.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd/*",
    "/dev/shm/**",
    "/dev/tty",
    "/dev/console",
    "/dev/pts/*",
    "/dev/hwrng",
];

/// Names of sockets and pipes, which hand what they hold to the one who reads.
const PIPES: &[&str] = &["*.sock", "*.socket", "*.fifo", "*.pipe", "fifo", "initctl"];

/// Folders that are no symbolic links on any usual system, so that `..` behind them leads where it seems to.
const REAL_FOLDERS: &[&str] = &[
    "/boot",
    "/dev",
    "/etc",
    "/proc",
    "/sys",
    "/usr",
    "/usr/share",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
];

/// Files that can be read for ever, or that wait.
const ENDLESS: &[&str] = &[
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
    "/dev/console",
    "/dev/tty*",
    "/dev/pts/*",
    "/dev/input/**",
    "/proc/acpi/event",
    "/dev/stdin",
    "/dev/fd/*",
    "/proc/self/fd/*",
    "/proc/*/fd/*",
    "/dev/hwrng",
    "/dev/usbmon*",
    "/sys/kernel/debug/usb/usbmon/*",
];

/// A pattern that is longer than any path is not followed: it could be anything.
const LONGEST_PATTERN: usize = 4096;

/// A pattern, read once.
struct Known {
    pattern: &'static str,
    /// For an absolute pattern, the text before its first wildcard: a path that does not start so cannot match.
    prefix: Option<String>,
    /// The longest text in it that is not a wildcard: a path without it cannot match.
    needle: String,
    tokens: Vec<Token>,
    /// For the end of any path: the same below any folder.
    below: Option<Vec<Token>>,
}

impl Known {
    fn list(patterns: &'static [&'static str]) -> Vec<Self> {
        patterns.iter().copied().map(Self::new).collect()
    }

    fn new(pattern: &'static str) -> Self {
        Self {
            pattern,
            prefix: pattern
                .starts_with('/')
                .then(|| pattern.split('*').next().unwrap_or("").to_owned()),
            needle: pattern
                .split('*')
                .max_by_key(|text| text.len())
                .unwrap_or("")
                .to_owned(),
            tokens: tokens(pattern),
            below: (!pattern.starts_with('/')).then(|| tokens(&format!("**/{pattern}"))),
        }
    }

    /// Whether a path, written out, could match at all.
    fn possible(&self, path: &str) -> bool {
        match &self.prefix {
            Some(prefix) => path.starts_with(prefix.as_str()),
            None => path.contains(&self.needle),
        }
    }

    fn overlaps(&self, other: &[Token]) -> bool {
        overlap(other, &self.tokens) || self.below.as_ref().is_some_and(|below| overlap(other, below))
    }
}

static SECRET: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(SECRETS));
static TELLS: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(TELLING));
static OPEN: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(PUBLIC));
static NEVER_OPEN: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(NEVER_PUBLIC));
static ACTS: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(HARMFUL));
static ACTS_WHEN_OPENED: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(OPENING));
static MAY_BE_READ: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(DEVICES));
static HANDS_OUT: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(PIPES));
static NEVER_ENDS: LazyLock<Vec<Known>> = LazyLock::new(|| Known::list(ENDLESS));

/// Whether a path, written out, is one of these.
fn is_one_of(path: &str, known: &[Known]) -> bool {
    let mut letters = None;
    known.iter().filter(|known| known.possible(path)).any(|known| {
        known.overlaps(letters.get_or_insert_with(|| path.chars().map(Token::Char).collect::<Vec<_>>()))
    })
}

/// What reading an argument as a file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent findings, each of them asked by its name"
)]
pub(crate) struct Nature {
    pub(crate) secret: bool,
    pub(crate) endless: bool,
    /// Reading it changes something.
    pub(crate) harmful: bool,
    /// Opening it changes something, whatever is done with it then.
    pub(crate) acts: bool,
}

impl Nature {
    /// What either of them means.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self {
            secret: self.secret || other.secret,
            endless: self.endless || other.endless,
            harmful: self.harmful || other.harmful,
            acts: self.acts || other.acts,
        }
    }
}

/// Whether an absolute pattern could match a relative name, in the right folder. Only patterns whose last part names
/// something: `/etc/shadow*` does, `/etc/kubernetes/*.conf` and `/etc/openvpn/**` would match too much.
fn could_be(name: &str, patterns: &[&str]) -> bool {
    let name = normal(name);
    let last = name.rsplit('/').next().unwrap_or("");
    let last = tokens(last);
    patterns
        .iter()
        .filter(|pattern| pattern.starts_with('/'))
        .filter_map(|pattern| pattern.rsplit('/').next())
        .filter(|tail| tail.bytes().take_while(u8::is_ascii_alphanumeric).count() >= 2)
        .any(|tail| overlap(&last, &tokens(tail)))
}

/// Whether a relative name is that of a well-known secret, should the command run in its folder.
pub(crate) fn could_be_secret_somewhere(name: &str) -> bool {
    // A pattern that starts with a wildcard would match them all.
    !name.contains('/') && !name.starts_with(['*', '?', '[']) && could_be(name, WELL_KNOWN)
}

/// Whether a relative name could be a device that acts when it is opened, should the command run in its folder. Their names
/// are short: written out, one must be the whole name and a number.
pub(crate) fn could_act_somewhere(name: &str) -> bool {
    if name.contains(['*', '?', '[']) {
        return could_be(name, OPENING);
    }
    let name = normal(name);
    let last = name.rsplit('/').next().unwrap_or("");
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = stem.len() < last.len();
    OPENING
        .iter()
        .filter_map(|pattern| pattern.rsplit('/').next())
        .any(|tail| tail.trim_end_matches('*') == stem && !stem.is_empty() && (numbered || stem.len() > 3))
}

/// What a relative name could be in a folder that is not known: a secret, and a device if it is named like one.
pub(crate) fn nature_anywhere(name: &str) -> Nature {
    Nature {
        secret: true,
        endless: could_be(name, ENDLESS),
        harmful: could_be(name, HARMFUL),
        acts: could_act_somewhere(name),
    }
}

/// Whether opening a file named by this argument does something.
pub(crate) fn acts(arg: &Arg<'_>) -> bool {
    match &arg.value {
        Value::Known(path) => {
            let path = path.strip_prefix('@').unwrap_or(path);
            // Every such device lies below /dev, or could where a path climbs behind a link.
            if !path.contains("dev") && !path.contains("..") {
                return false;
            }
            let path = path.strip_prefix("file:").unwrap_or(path);
            wherever_it_climbs(path).acts || is_one_of(&normal(path), &ACTS_WHEN_OPENED)
        }
        Value::Unknown(unknown) => unknown.glob.as_deref().is_some_and(|glob| {
            if glob.len() > LONGEST_PATTERN {
                return true;
            }
            let wherever = wherever_it_climbs(glob);
            let glob = normal(glob);
            let letters = tokens(&glob);
            wherever.acts
                || glob.starts_with('/') && ACTS_WHEN_OPENED.iter().any(|known| known.overlaps(&letters))
        }),
    }
}

/// What a file named by this argument could be. What is not known could be a secret.
pub(crate) fn nature(arg: &Arg<'_>) -> Nature {
    match &arg.value {
        Value::Known(path) => {
            // Some programs take `@file` or `file://file` for the file.
            let path = path.strip_prefix('@').unwrap_or(path);
            let path = ["file://", "fileb://", "file:"]
                .iter()
                .find_map(|scheme| path.strip_prefix(scheme))
                .unwrap_or(path);
            let wherever = wherever_it_climbs(path);
            let path = normal(path);
            let nature = Nature {
                secret: is_secret(&path) || behind_type(&path).is_some_and(|rest| is_secret(&normal(rest))),
                endless: is_one_of(&path, &NEVER_ENDS),
                harmful: is_one_of(&path, &ACTS)
                    || is_one_of(&path, &HANDS_OUT)
                    || path.starts_with("/dev/")
                        && !is_one_of(&path, &MAY_BE_READ)
                        && !is_one_of(&path, &SECRET),
                acts: acts(arg),
            };
            nature.or(wherever)
        }
        Value::Unknown(unknown) => match &unknown.glob {
            Some(glob) if glob.len() > LONGEST_PATTERN => Nature {
                secret: true,
                endless: true,
                harmful: true,
                acts: true,
            },
            Some(glob) => {
                let wherever = wherever_it_climbs(glob);
                let glob = normal(glob);
                let ordinary = ORDINARY.iter().any(|folder| glob.starts_with(folder));
                let absolute = glob.starts_with('/');
                let devices = glob.starts_with("/dev/")
                    && !["/dev/shm/", "/dev/fd/", "/dev/pts/"]
                        .iter()
                        .any(|folder| glob.starts_with(folder));
                let glob = tokens(&glob);
                let secret = SECRET
                    .iter()
                    .any(|known| (!ordinary || known.pattern.starts_with('/')) && known.overlaps(&glob));
                let nature = Nature {
                    secret,
                    endless: absolute && NEVER_ENDS.iter().any(|known| known.overlaps(&glob)),
                    harmful: devices || absolute && ACTS.iter().any(|known| known.overlaps(&glob)),
                    acts: acts(arg),
                };
                nature.or(wherever)
            }
            None => Nature {
                secret: true,
                endless: false,
                harmful: false,
                acts: false,
            },
        },
    }
}

/// Whether a word names a file that is listed as a secret. A pattern counts only with a folder in it.
pub(crate) fn is_listed(arg: &Arg<'_>) -> bool {
    match &arg.value {
        Value::Known(path) => {
            let path = path.strip_prefix('@').unwrap_or(path);
            let listed = |path: &str| {
                let path = normal(path);
                is_one_of(&path, &SECRET) && !is_public(&path)
            };
            listed(path) || behind_type(path).is_some_and(listed)
        }
        Value::Unknown(unknown) => {
            unknown.glob.as_deref().is_some_and(|glob| glob.contains('/')) && nature(arg).secret
        }
    }
}

/// The path behind a type or a host: `hash:/etc/postfix/sasl_passwd`, `sql:~/.pki/key4.db`.
fn behind_type(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+@".contains(c);
    (!name.is_empty() && name.chars().all(plain) && rest.starts_with(['/', '~', '.'])).then_some(rest)
}

/// What a path could be besides what it seems to be, where it could lead anywhere.
fn wherever_it_climbs(path: &str) -> Nature {
    if climbs_behind_a_name(path) {
        nature_anywhere(path)
    } else {
        Nature::default()
    }
}

/// Whether a path, folded to its one name, is a secret.
fn is_secret(path: &str) -> bool {
    let lower = path.to_lowercase();
    // The files of another root, mounted here, are as secret as ours.
    let elsewhere = || {
        path.find("/etc/")
            .filter(|at| *at > 0)
            .is_some_and(|at| is_one_of(&path[at..], &SECRET))
    };
    if !(is_one_of(path, &SECRET) || is_one_of(&lower, &TELLS) || elsewhere()) {
        return false;
    }
    // A name that says certificate and key holds the key.
    let name = lower.rsplit('/').next().unwrap_or("");
    let key = (name.contains("key") || name.contains("priv")) && name.rsplit('.').next() == Some("pem");
    key || !is_public(path)
}

/// Whether a path is public by its name, and not in a folder where such names are secrets.
fn is_public(path: &str) -> bool {
    let below = path.find("/etc/").map_or(path, |at| &path[at..]);
    is_one_of(path, &OPEN) && !is_one_of(path, &NEVER_OPEN) && !is_one_of(below, &NEVER_OPEN)
}

/// Whether a path that a tool was given, a file or a folder with all below it, shows secrets.
pub(crate) fn path_shows_secrets(path: &str) -> bool {
    climbs_behind_a_name(path) || is_secret(&normal(path)) || holds_secrets(&Arg::known(path))
}

/// Folders that hold secrets, at any depth, by the patterns of the secrets.
static HOLD_SECRETS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut folders: Vec<&'static str> = SECRETS
        .iter()
        .flat_map(|pattern| {
            pattern
                .match_indices('/')
                .map(|(at, _)| &pattern[..at])
                .filter(|folder| {
                    // Below /proc most is public, and the folders of processes are told by their numbers.
                    !folder.is_empty() && !folder.contains("**") && !folder.starts_with("/proc/")
                })
        })
        .collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().map(Known::new).collect()
});

/// Whether a file operand, should it be a folder, holds secrets: many programs that are given a folder read what is in it.
/// What is not known at all is taken for a secret anyway.
pub(crate) fn folder_holds_secrets(arg: &Arg<'_>) -> bool {
    match &arg.value {
        Value::Known(_) => tree_holds_secrets(arg),
        Value::Unknown(unknown) => unknown.glob.as_deref().is_some_and(|glob| {
            if glob.len() > LONGEST_PATTERN {
                return true;
            }
            let glob = normal(glob);
            let ordinary = ORDINARY.iter().any(|folder| glob.starts_with(folder));
            let glob = tokens(&glob);
            !ordinary && HOLD_SECRETS.iter().any(|known| known.overlaps(&glob))
        }),
    }
}

/// Whether reading everything below a folder opens what acts on being opened or read.
pub(crate) fn tree_acts(arg: &Arg<'_>) -> bool {
    let Some(path) = arg.text() else { return false };
    let path = normal(path);
    if !path.starts_with('/') {
        return false;
    }
    // The whole system, or a folder of the kernel.
    let path = path.trim_end_matches('/');
    matches!(path, "" | "/dev" | "/proc" | "/sys" | "/sys/kernel")
        || path.starts_with("/dev/") && !path.starts_with("/dev/shm")
        || ["/sys/kernel/debug", "/sys/kernel/tracing"]
            .iter()
            .any(|folder| path.starts_with(folder))
}

/// The folder of a process, by its number.
fn is_of_process(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let number = |part: Option<&str>| {
        part.is_some_and(|part| {
            matches!(part, "self" | "thread-self")
                || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if parts.next() != Some("proc") || !number(parts.next()) {
        return false;
    }
    match (parts.next(), parts.next()) {
        (None, _) | (Some("task"), None) => true,
        (Some("task"), task) => number(task) && parts.next().is_none(),
        _ => false,
    }
}

/// Whether a folder that is read whole holds one of the secrets.
pub(crate) fn tree_holds_secrets(arg: &Arg<'_>) -> bool {
    holds_secrets(arg)
        || arg
            .text()
            .is_some_and(|path| is_of_process(normal(path).trim_end_matches('/')))
}

/// The same, but for the folders of processes, whose names are no secret.
fn holds_secrets(arg: &Arg<'_>) -> bool {
    let Some(path) = arg.text() else { return true };
    if climbs_behind_a_name(path) {
        return true;
    }
    let path = normal(path);
    let path = path.trim_end_matches('/');
    let home = path.starts_with("/home/") && path.matches('/').count() == 2;
    home || matches!(
        path,
        "" | "."
            | ".."
            | "~"
            | "/root"
            | "/home"
            | "/proc"
            | "/run"
            | "/dev"
            | "/var"
            | "/var/lib"
            | "/var/run"
    ) || is_one_of(path, &HOLD_SECRETS)
        || SECRETS.iter().any(|secret| {
            let folder = secret.strip_suffix("/**").unwrap_or(secret);
            folder
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                || path.strip_suffix(folder).is_some_and(|rest| rest.ends_with('/'))
        })
}

/// Whether `..` follows a name that could be a symbolic link: `/var/run/../etc/shadow` is `/etc/shadow`. Such a path could lead
/// anywhere.
fn climbs_behind_a_name(path: &str) -> bool {
    let mut folder = String::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if folder.is_empty() => {}
            ".." => {
                if !path.starts_with('/') || !REAL_FOLDERS.contains(&folder.as_str()) {
                    return true;
                }
                folder.truncate(folder.rfind('/').unwrap_or(0));
            }
            _ => {
                folder.push('/');
                folder.push_str(part);
            }
        }
    }
    false
}

/// Folds `//`, `/./`, `x/..` and links that lead around, so that one file has one name.
pub(crate) fn normal(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Behind a link of a process, `..` is not what it seems.
            ".." if parts.len() >= 3 && parts[0] == "proc" => parts.push("cwd"),
            ".." => {
                if matches!(parts.last(), None | Some(&"..")) {
                    if !absolute {
                        parts.push("..");
                    }
                } else {
                    parts.pop();
                }
            }
            _ => parts.push(part),
        }
    }
    // What climbs out of where we are ends at the root.
    let climbs = parts.iter().take_while(|part| **part == "..").count();
    let absolute = absolute || climbs > 0;
    // Roots and folders seen through another door are the same files.
    let (absolute, skip) = match parts.as_slice() {
        ["proc", _, "root", ..] if absolute => (true, 3),
        ["proc", "self" | "thread-self", "cwd", ..] if absolute => (false, 3),
        _ => (absolute, climbs),
    };
    let joined = parts[skip..].join("/");
    if absolute { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(word: &str) -> bool {
        let mut args = Vec::new();
        crate::word::expand(word, &mut args).unwrap();
        args.iter().any(|arg| nature(arg).secret)
    }

    #[test]
    fn secrets_are_found_however_they_are_written() {
        for word in [
            "/etc/shadow",
            "/etc/shadow-",
            "//etc//shadow",
            "/etc/./shadow",
            "/etc/x/../shadow",
            "/etc/shad?w",
            "/etc/sh*",
            "/e*/shadow",
            "/etc/[s]hadow",
            "/etc/{shadow,passwd}",
            "'/etc/shadow'",
            "/etc/sha\\dow",
            "~/.ssh/id_ed25519",
            "/root/.ssh/config",
            "id_rsa",
            "./server.key",
            "/proc/self/environ",
            "/proc/1/environ",
            "/proc/1/root/etc/shadow",
            "/proc/self/cwd/.env",
            "/proc/self/root/etc/ssl/../shadow",
            "/var/run/../etc/shadow",
            "/var/run/../proc/self/environ",
            "/dev/fd/../environ",
            "link/../notes",
            "*",
            "/etc/*",
            "$FILE",
            "~/.kube/config",
            "admin.kubeconfig",
            "/run/secrets/db",
            ".env",
            "app/.env.production",
            "/dev/sda1",
            "/etc/environment",
            "/etc/netplan/50-cloud-init.yaml",
            "/etc/netplan/*.yaml",
            "/etc/redis/redis.conf",
            "/etc/snmp/snmpd.conf",
            "/etc/zabbix/zabbix_server.conf",
            "/etc/zabbix/zabbix_server.d/db.conf",
            "/etc/postfix/mysql-users.cf",
            "/etc/cloudflared/cert.pem",
            "~/.cloudflared/cert.pem",
            "/mnt/etc/cloudflared/cert.pem",
        ] {
            assert!(secret(word), "{word} should be sensitive");
        }
    }

    #[test]
    fn ordinary_files_are_not_secrets() {
        for word in [
            "/etc/hosts",
            "/etc/passwd",
            "/var/log/syslog",
            "/var/log/*.log",
            "/etc/nginx/nginx.conf",
            "/etc/ssl/certs/ca.pem",
            "~/.ssh/id_ed25519.pub",
            "fullchain.pem",
            "/proc/meminfo",
            "/proc/1/status",
            "/proc/*/status",
            "README.md",
            "/dev/null",
            "/sys/class/net/*/address",
            "/etc/pve/storage.cfg",
            "/etc/network/interfaces",
            "/etc/zabbix/zabbix_agentd.conf",
            "/etc/postfix/main.cf",
            "/etc/letsencrypt/live/example.org/cert.pem",
        ] {
            assert!(!secret(word), "{word} should not be sensitive");
        }
    }
}
