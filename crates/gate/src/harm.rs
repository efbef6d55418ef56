//! Writes that do more harm than their tool says: to files that run code, to the power of a machine, to what an image is.
//!
//! One function over the canonical path answers for every tool that writes files. A file is data only if it is known to be:
//! by the operator, by its place or by its ending. What cannot be told is taken for the worse.

mod command;

use std::collections::BTreeSet;

use interlock_protocol::{ResourceKind, RiskLevel, ToolKind};

/// Folders in which whatever is written is run, or decides what is: with everything below.
const FOLDERS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc/NetworkManager/dispatcher.d",
    "/etc/X11",
    "/etc/acpi",
    "/etc/alternatives",
    "/etc/apt",
    "/etc/binfmt.d",
    "/etc/bluetooth",
    "/etc/cni",
    "/etc/collectd",
    "/etc/containerd",
    "/etc/containers/systemd",
    "/etc/crio",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.monthly",
    "/etc/cron.weekly",
    "/etc/cron.yearly",
    "/etc/cups",
    "/etc/dbus-1",
    "/etc/default",
    "/etc/dhcp",
    "/etc/dnf",
    "/etc/docker",
    "/etc/dovecot",
    "/etc/dpkg",
    "/etc/dracut.conf.d",
    "/etc/environment.d",
    "/etc/exim4",
    "/etc/fail2ban",
    "/etc/grub.d",
    "/etc/icinga2",
    "/etc/init",
    "/etc/initramfs-tools",
    "/etc/keepalived",
    "/etc/kernel",
    "/etc/kubernetes",
    "/etc/ld.so.conf.d",
    "/etc/libvirt/hooks",
    "/etc/logrotate.d",
    "/etc/mdadm",
    "/etc/modprobe.d",
    "/etc/modules-load.d",
    "/etc/monit",
    "/etc/nagios",
    "/etc/network",
    "/etc/networkd-dispatcher",
    "/etc/nrpe.d",
    "/etc/openvpn",
    "/etc/pacman.d",
    "/etc/periodic",
    "/etc/php",
    "/etc/polkit-1",
    "/etc/postfix",
    "/etc/ppp",
    "/etc/pve",
    "/etc/rancher",
    "/etc/rsyslog.d",
    "/etc/runit",
    "/etc/s6",
    "/etc/security",
    "/etc/skel",
    "/etc/smartmontools",
    "/etc/snmp",
    "/etc/ssh",
    "/etc/sudoers.d",
    "/etc/supervisor",
    "/etc/sv",
    "/etc/sysctl.d",
    "/etc/syslog-ng",
    "/etc/systemd",
    "/etc/sysusers.d",
    "/etc/telegraf",
    "/etc/tmpfiles.d",
    "/etc/udev",
    "/etc/update-motd.d",
    "/etc/wireguard",
    "/etc/xdg",
    "/etc/xinetd.d",
    "/etc/yum",
    "/etc/yum.repos.d",
    "/etc/zabbix",
    "/etc/zfs",
    "/etc/zsh",
    "/etc/zypp",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/bin",
    "/proc",
    "/run/systemd",
    "/run/udev",
    "/sbin",
    "/snap",
    "/sys",
    "/usr/bin",
    "/usr/games",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/etc/periodic",
    "/usr/local/games",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/local/sbin",
    "/usr/sbin",
    "/usr/share/polkit-1",
    "/var/lib/dpkg",
    "/var/lib/vz/snippets",
    "/var/spool/anacron",
    "/var/spool/at",
    "/var/spool/cron",
];

/// Single files that run code, or say who may.
const FILES: &[&str] = &[
    "/etc/aliases",
    "/etc/anacrontab",
    "/etc/at.allow",
    "/etc/at.deny",
    "/etc/bash.bash_logout",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/cron.allow",
    "/etc/cron.deny",
    "/etc/crontab",
    "/etc/csh.cshrc",
    "/etc/csh.login",
    "/etc/doas.conf",
    "/etc/environment",
    "/etc/fstab",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/gshadow",
    "/etc/host.conf",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
    "/etc/inetd.conf",
    "/etc/inittab",
    "/etc/inputrc",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/logrotate.conf",
    "/etc/mailcap",
    "/etc/mdadm.conf",
    "/etc/modules",
    "/etc/multipath.conf",
    "/etc/nsswitch.conf",
    "/etc/pam.conf",
    "/etc/passwd",
    "/etc/profile",
    "/etc/rc.local",
    "/etc/rsyslog.conf",
    "/etc/shadow",
    "/etc/shells",
    "/etc/smartd.conf",
    "/etc/subgid",
    "/etc/subuid",
    "/etc/sudo.conf",
    "/etc/sudoers",
    "/etc/sysctl.conf",
    "/etc/zprofile",
    "/etc/zshenv",
    "/etc/zshrc",
];

/// Names of files that run code wherever they are: what a shell, an editor, SSH, Git or a mail server reads at its start.
const NAMES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".emacs",
    ".envrc",
    ".exrc",
    ".forward",
    ".gdbinit",
    ".gitattributes",
    ".gitconfig",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".mkshrc",
    ".npmrc",
    ".pam_environment",
    ".procmailrc",
    ".profile",
    ".screenrc",
    ".tcshrc",
    ".tmux.conf",
    ".vimrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".yarnrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "Containerfile",
    "Dockerfile",
    "Jenkinsfile",
    "Makefile",
    "Vagrantfile",
    "authorized_keys",
    "authorized_keys2",
    "compose.yaml",
    "compose.yml",
    "crontab",
    "docker-compose.override.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "kustomization.yaml",
    "ld.so.preload",
    "sudoers",
];

/// Folders, by their name, whose files run code wherever the folder is.
const FOLDER_NAMES: &[&str] = &[
    ".git",
    ".ssh",
    "autostart",
    "bin",
    "cron.d",
    "cron.daily",
    "cron.hourly",
    "cron.monthly",
    "cron.weekly",
    "crontabs",
    "dispatcher.d",
    "dist-packages",
    "environment.d",
    "fish",
    "hooks",
    "hooks.d",
    "init.d",
    "libexec",
    "node_modules",
    "pam.d",
    "profile.d",
    "rc.d",
    "sbin",
    "site-packages",
    "sudoers.d",
    "systemd",
];

/// Endings of files that run code, or tell the system to.
const ENDINGS: &[&str] = &[
    "automount",
    "bash",
    "bat",
    "cgi",
    "cjs",
    "cmd",
    "csh",
    "desktop",
    "device",
    "exe",
    "fish",
    "jar",
    "js",
    "ko",
    "ksh",
    "lua",
    "mjs",
    "mount",
    "path",
    "php",
    "pl",
    "pm",
    "ps1",
    "pth",
    "py",
    "pyc",
    "rb",
    "rules",
    "scope",
    "service",
    "sh",
    "slice",
    "so",
    "socket",
    "swap",
    "target",
    "tcl",
    "timer",
    "wasm",
    "zsh",
];

/// Folders whose files configure programs, which may run code by it. Only the operator can say that a file there is data.
const SYSTEM: &[&str] = &[
    "/boot",
    "/etc",
    "/opt",
    "/run",
    "/usr",
    "/var/cache",
    "/var/lib",
    "/var/spool",
    "/var/www",
];

/// Files that people read and no program acts on.
const DATA_FILES: &[&str] = &["/etc/issue", "/etc/issue.net", "/etc/motd"];

/// Folders of data that is kept for a while.
const DATA_FOLDERS: &[&str] = &["/tmp", "/var/log", "/var/tmp"];

/// Endings of files that people read and no program acts on.
const DATA_ENDINGS: &[&str] = &[
    "adoc", "csv", "gif", "jpeg", "jpg", "log", "md", "pdf", "png", "rst", "tsv", "txt", "webp",
];

/// Names with such an ending that programs act on.
const NO_DATA: &[&str] = &[
    "cmakelists.txt",
    "cmdline.txt",
    "config.txt",
    "constraints.txt",
    "requirements.txt",
    "usercfg.txt",
];

/// Whether one path is another, or below it.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a file is known to be data. `named` are files and folders that the operator says hold data.
fn is_data(path: &str, named: &BTreeSet<String>) -> bool {
    let Some(parts) = canonical(path) else {
        return false;
    };
    let Some(name) = parts.last() else { return false };
    let whole = format!("/{}", parts.join("/"));
    let by_operator = named
        .iter()
        .filter_map(|path| canonical(path))
        .filter(|parts| !parts.is_empty())
        .any(|parts| is_below(&whole, &format!("/{}", parts.join("/"))));
    let name = name.to_ascii_lowercase();
    let by_ending = || {
        name.rsplit_once('.')
            .is_some_and(|(_, ending)| DATA_ENDINGS.contains(&ending))
            && !NO_DATA.contains(&name.as_str())
            && !name.starts_with("requirements")
            && !parts.iter().any(|part| part.starts_with('.'))
            && !SYSTEM.iter().any(|folder| is_below(&whole, folder))
    };
    by_operator
        || DATA_FILES.contains(&whole.as_str())
        || DATA_FOLDERS
            .iter()
            .any(|folder| whole != *folder && is_below(&whole, folder))
        || by_ending()
}

/// Why a write to this path is of high risk; nothing if the file is known to be plain data. The one answer for every tool
/// and every command that writes a file.
fn of_file(path: &str, named: &BTreeSet<String>) -> Option<String> {
    match runs_code(path) {
        Some(why) => Some(format!("the file may run code: {why}")),
        None if interlock_shell::path_holds_secrets(path) => Some("the file holds secrets".to_owned()),
        None if is_data(path, named) => None,
        None => Some("the file is not known to be plain data (`control.data_files`)".to_owned()),
    }
}

/// Why a change of a folder with everything below it is of high risk: what holds for the folder itself, for a file in it, and
/// for every listed place below it.
fn of_tree(path: &str, named: &BTreeSet<String>) -> Option<String> {
    let whole = format!("/{}", canonical(path).unwrap_or_default().join("/"));
    let holds_listed = || {
        FOLDERS
            .iter()
            .chain(FILES)
            .chain(SYSTEM)
            .any(|listed| whole == "/" || is_below(listed, &whole))
    };
    of_file(path, named)
        .or_else(|| of_file(&format!("{path}/file"), named))
        .or_else(|| holds_listed().then(|| "files below it run code".to_owned()))
}

/// Why a file that is written to is known to run code; nothing if it is not known.
fn runs_code(path: &str) -> Option<&'static str> {
    let Some(parts) = canonical(path) else {
        return Some("where the file is cannot be told beforehand");
    };
    let whole = format!("/{}", parts.join("/"));
    let below = |folder: &str| is_below(&whole, folder);
    if FILES.contains(&whole.as_str()) || FOLDERS.iter().any(|folder| below(folder)) {
        return Some("what is written there runs, or decides what runs");
    }
    // `/etc/rc3.d`, `/etc/rc.d`.
    if parts.len() >= 2
        && parts[0] == "etc"
        && parts[1].starts_with("rc")
        && parts[1].strip_suffix(".d").is_some()
    {
        return Some("what is written there runs, or decides what runs");
    }
    let Some((name, folders)) = parts.split_last() else {
        return Some("where the file is cannot be told beforehand");
    };
    if folders.iter().any(|folder| FOLDER_NAMES.contains(folder)) {
        return Some("files in such a folder run");
    }
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let is_library = name.contains(".so.");
    if NAMES.contains(name) || is_library || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return Some("files of such a name run");
    }
    None
}

/// The parts of an absolute path without `.`, `..` and empty ones. Nothing if it is not absolute, or leads above the root.
fn canonical(path: &str) -> Option<Vec<&str>> {
    let rest = path.strip_prefix('/')?;
    let mut parts = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts)
}

/// The least risk of a write to this path, and why. `data` are files and folders that the operator says hold data; what is
/// known to run code is not believed to be data.
pub(crate) fn of_path(kind: ToolKind, path: &str, data: &BTreeSet<String>) -> (RiskLevel, Option<String>) {
    match kind {
        ToolKind::Read | ToolKind::Resolve => (RiskLevel::Low, None),
        ToolKind::Write => match of_file(path, data) {
            Some(why) => (RiskLevel::High, Some(why)),
            None => (RiskLevel::Low, None),
        },
    }
}

/// The least risk of a command that changes something, and why. A file that it writes has the risk that [`of_path`] gives it.
pub(crate) fn of_command(
    kind: ToolKind,
    command: &str,
    data: &BTreeSet<String>,
) -> (RiskLevel, Option<String>) {
    match (kind, command::why(command, data)) {
        (ToolKind::Write, Some(why)) => (RiskLevel::High, Some(why)),
        (ToolKind::Write | ToolKind::Read | ToolKind::Resolve, _) => (RiskLevel::Low, None),
    }
}

/// Machines whose power carries others.
pub(crate) const fn carries_others(kind: ResourceKind) -> bool {
    matches!(
        kind,
        ResourceKind::Node
            | ResourceKind::Host
            | ResourceKind::Cluster
            | ResourceKind::DockerHost
            | ResourceKind::KubernetesNode
            | ResourceKind::MailGateway
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_run_code_are_known_by_their_canonical_path() {
        for path in [
            "/etc/cron.d/backup",
            "/etc//cron.d/./backup",
            "/opt/../etc/cron.d/backup",
            "/etc/crontab",
            "/var/spool/cron/crontabs/root",
            "/etc/systemd/system/x.service",
            "/home/anna/.config/systemd/user/x.timer",
            "/usr/lib/systemd/system/ssh.service.d/override.conf",
            "/etc/profile",
            "/etc/profile.d/x",
            "/root/.bashrc",
            "/home/anna/.zshenv",
            "/root/.ssh/authorized_keys",
            "/srv/data/authorized_keys",
            "/root/.ssh/rc",
            "/etc/sudoers",
            "/etc/sudoers.d/90-x",
            "/srv/git/app.git/hooks/post-receive",
            "/srv/app/.git/config",
            "/etc/init.d/nginx",
            "/etc/rc3.d/S01x",
            "/etc/rc.local",
            "/etc/ld.so.preload",
            "/etc/pam.d/sshd",
            "/etc/udev/rules.d/10-x.rules",
            "/etc/apt/apt.conf.d/99x",
            "/usr/local/bin/backup",
            "/opt/app/bin/start",
            "/srv/app/run.sh",
            "/srv/app/main.py",
            "/srv/lib/libx.so.1",
            "/etc/ssh/sshd_config",
            "/etc/passwd",
            "/proc/sys/kernel/core_pattern",
            "relative",
            "~/.bashrc",
            "/../../etc/x",
            "/",
            "",
        ] {
            assert!(runs_code(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_file_is_data_only_if_it_is_known_to_be() {
        let named: BTreeSet<String> = [
            "/srv/app/content",
            "/etc/app/banner.conf",
            "/",
            "relative",
            "/etc/cron.d",
        ]
        .map(str::to_owned)
        .into();
        let cases = [
            ("/etc/motd", true),
            ("/etc/issue", true),
            ("/tmp/x", true),
            ("/tmp/.tmpAbc/notes.conf", true),
            ("/var/log/app.log", true),
            ("/root/notes.txt", true),
            ("/home/anna/list.csv", true),
            ("/srv/readme.MD", true),
            ("/srv/app/content", true),
            ("/srv/app/content/pages/index", true),
            ("/srv/app/./content/x.json", true),
            ("/etc/app/banner.conf", true),
            // Named, and known to run code.
            ("/etc/cron.d/x", false),
            ("/srv/app/content/run.sh", false),
            ("/srv/app/content/.git/config", false),
            ("/tmp/x.sh", false),
            ("/tmp", false),
            // Not named, and maybe the configuration of something.
            ("/srv/app/contents", false),
            ("/srv/app/content/../config", false),
            ("/etc/app/banner.conf.d", false),
            ("/etc/hosts", false),
            ("/etc/hostname", false),
            ("/etc/resolv.conf", false),
            ("/etc/unknown", false),
            ("/etc/unknown/notes.txt", false),
            ("/etc/nginx/nginx.conf", false),
            ("/etc/mysql/my.cnf", false),
            ("/etc/samba/smb.conf", false),
            ("/opt/x", false),
            ("/opt/app/notes.txt", false),
            ("/srv/app/config.yaml", false),
            ("/srv/app/.env", false),
            ("/srv/app/settings.json", false),
            ("/srv/app/Procfile", false),
            ("/srv/app/requirements.txt", false),
            ("/srv/app/requirements-dev.txt", false),
            ("/srv/app/CMakeLists.txt", false),
            ("/boot/firmware/cmdline.txt", false),
            ("/home/anna/.config/app/notes.txt", false),
            ("/usr/share/doc/x.md", false),
            ("/var/lib/app/x.csv", false),
            ("/var/www/html/index.html", false),
            ("/x", false),
            ("/", false),
            ("", false),
            ("notes.txt", false),
        ];
        for (path, data) in cases {
            let (risk, why) = of_path(ToolKind::Write, path, &named);
            assert_eq!(risk == RiskLevel::Low, data, "{path}: {why:?}");
            assert_eq!(why.is_none(), data, "{path}");
            assert_eq!(of_path(ToolKind::Read, path, &named).0, RiskLevel::Low, "{path}");
        }
    }

    #[test]
    fn a_command_that_writes_configuration_of_the_system_waits() {
        let named = BTreeSet::new();
        for (command, waits) in [
            ("touch /tmp/x", false),
            ("touch /etc/unknown", true),
            ("cp /tmp/a /etc/app.conf", true),
            ("touch /etc/motd", false),
            ("mkdir /usr/share/app", true),
        ] {
            let risk = of_command(ToolKind::Write, command, &named).0;
            assert_eq!(risk == RiskLevel::High, waits, "{command}");
        }
    }

    proptest::proptest! {
        /// Whatever is below a folder of the system is no data, unless somebody named it.
        #[test]
        fn nothing_unknown_below_a_system_folder_is_data(
            folder in proptest::sample::select(SYSTEM.to_vec()),
            rest in "[a-z.]{1,8}(/[a-zA-Z0-9._-]{1,12}){0,3}",
        ) {
            let path = format!("{folder}/{rest}");
            proptest::prop_assume!(canonical(&path).is_some_and(|parts| {
                let whole = format!("/{}", parts.join("/"));
                is_below(&whole, folder) && !DATA_FILES.contains(&whole.as_str())
            }));
            let (risk, _) = of_path(ToolKind::Write, &path, &BTreeSet::new());
            proptest::prop_assert_eq!(risk, RiskLevel::High, "{}", path);
        }

        /// Naming a path never makes a file that runs code data.
        #[test]
        fn naming_a_file_does_not_make_code_data(path in "(/[a-zA-Z0-9._-]{1,10}){1,4}") {
            let named = BTreeSet::from([path.clone()]);
            let (risk, _) = of_path(ToolKind::Write, &path, &named);
            proptest::prop_assert_eq!(risk == RiskLevel::High, runs_code(&path).is_some());
        }
    }

    proptest::proptest! {
        /// A path has the same risk for the tools that write files and for every command that writes one.
        #[test]
        fn a_command_has_the_risk_of_the_file_that_it_writes(path in paths()) {
            let named = BTreeSet::from(["/srv/content".to_owned(), "/opt/data".to_owned()]);
            let (risk, _) = of_path(ToolKind::Write, &path, &named);
            for command in [
                format!("touch {path}"),
                format!("tee -a {path}"),
                format!("echo x > {path}"),
                format!("echo x 2>>{path}"),
                format!("truncate -s 0 {path}"),
                format!("rm {path}"),
                format!("chmod 644 {path}"),
                format!("chown app {path}"),
                format!("mkdir -p {path}"),
                format!("timeout 5 touch {path}"),
                format!("systemctl stop app; touch {path}"),
            ] {
                let (by_command, why) = of_command(ToolKind::Write, &command, &named);
                proptest::prop_assert_eq!(by_command, risk, "{}: {:?}", command, why);
            }
        }

        /// What may land in a folder has at least the risk of the file that it could become, at any depth.
        #[test]
        fn what_is_put_into_a_folder_has_the_risk_of_what_it_becomes(folder in paths(), rest in "[a-z.]{1,8}(/[a-z.]{1,8}){0,2}") {
            let named = BTreeSet::from(["/srv/content".to_owned(), "/opt/data".to_owned()]);
            let target = format!("{folder}/{rest}");
            proptest::prop_assume!(canonical(&target).is_some_and(|parts| {
                is_below(&format!("/{}", parts.join("/")), &format!("/{}", canonical(&folder).unwrap_or_default().join("/")))
            }));
            let (risk, _) = of_path(ToolKind::Write, &target, &named);
            let name = rest.rsplit('/').next().unwrap_or_default();
            let parent = target.rsplit_once('/').map_or("/", |(parent, _)| parent);
            let first = rest.split('/').next().unwrap_or_default();
            for command in [
                // A single file.
                format!("cp /tmp/{name} {parent}"),
                format!("cp /tmp/a /tmp/{name} {parent}/"),
                format!("mv /tmp/{name} {parent}"),
                format!("mv /tmp/x {target}"),
                // A folder that holds the rest of the path.
                format!("cp -r /tmp/{first} {folder}"),
                format!("cp -a /tmp/. {folder}"),
                format!("cp -vR /tmp/a/ {folder}/{first}"),
                format!("mv /tmp/{first} {folder}"),
            ] {
                let (by_command, _) = of_command(ToolKind::Write, &command, &named);
                proptest::prop_assert!(by_command >= risk, "{}", command);
            }
        }

        /// A change of a folder with everything in it has at least the risk of every listed place in it.
        #[test]
        fn a_folder_has_the_risk_of_every_listed_place_below_it(
            listed in proptest::sample::select([FOLDERS, FILES, SYSTEM].concat()),
            up in 0_usize..4,
        ) {
            let parts: Vec<&str> = listed.split('/').collect();
            let folder = parts[..parts.len().saturating_sub(up).max(2)].join("/");
            // Also where the operator called all of it data.
            let named = BTreeSet::from([folder.clone()]);
            for command in [
                format!("rm -rf {folder}"),
                format!("chown -R app {folder}"),
                format!("chmod -R 644 {folder}"),
                format!("cp -r /tmp/x {folder}"),
                format!("mv /tmp/x {folder}"),
                format!("mv {folder} /tmp/x"),
            ] {
                let (risk, _) = of_command(ToolKind::Write, &command, &named);
                proptest::prop_assert_eq!(risk, RiskLevel::High, "{}", command);
            }
        }
    }

    /// Paths of every sort: listed ones, their parents, names that run, data, and others.
    fn paths() -> impl proptest::strategy::Strategy<Value = String> {
        use proptest::prelude::*;
        let listed = [FOLDERS, FILES, SYSTEM, DATA_FILES, DATA_FOLDERS].concat();
        let folders = prop_oneof![
            proptest::sample::select(listed).prop_map(str::to_owned),
            proptest::sample::select(vec![
                "",
                "/srv",
                "/srv/content",
                "/opt/data",
                "/home/anna",
                "/root",
                "/var"
            ])
            .prop_map(str::to_owned),
        ];
        let names = [NAMES, FOLDER_NAMES, NO_DATA].concat();
        let endings = [ENDINGS, DATA_ENDINGS].concat();
        let name = prop_oneof![
            proptest::sample::select(names).prop_map(str::to_owned),
            ("[a-z]{1,6}", proptest::sample::select(endings))
                .prop_map(|(name, ending)| format!("{name}.{ending}")),
            "[a-zA-Z0-9._-]{1,10}".prop_filter("not a flag", |name| !name.starts_with('-')),
            Just("..".to_owned()),
        ];
        (folders, proptest::collection::vec(name, 1..3))
            .prop_map(|(folder, names)| format!("{folder}/{}", names.join("/")))
    }

    #[test]
    fn what_only_reads_harms_nothing() {
        let named = BTreeSet::new();
        let of = |kind, command| of_command(kind, command, &named).0;
        assert_eq!(of(ToolKind::Read, "cat /etc/cron.d/x"), RiskLevel::Low);
        assert_eq!(of(ToolKind::Write, "make install"), RiskLevel::High);
        assert_eq!(of(ToolKind::Write, "systemctl restart nginx"), RiskLevel::Low);
    }
}
