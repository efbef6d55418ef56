//! Writes that do more harm than their tool says: to files that run code, to the power of a machine, to what an image is.
//!
//! One function over the canonical path answers for every tool that writes files. What cannot be told is taken for the worse.

use interlock_protocol::{ResourceKind, RiskLevel, ToolKind};

/// Folders in which whatever is written is run, or decides what is: with everything below.
const FOLDERS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc/NetworkManager/dispatcher.d",
    "/etc/X11",
    "/etc/alternatives",
    "/etc/apt",
    "/etc/binfmt.d",
    "/etc/cni",
    "/etc/containers/systemd",
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.monthly",
    "/etc/cron.weekly",
    "/etc/cron.yearly",
    "/etc/dbus-1",
    "/etc/default",
    "/etc/dhcp",
    "/etc/dnf",
    "/etc/dpkg",
    "/etc/dracut.conf.d",
    "/etc/environment.d",
    "/etc/grub.d",
    "/etc/init",
    "/etc/initramfs-tools",
    "/etc/kernel",
    "/etc/kubernetes/manifests",
    "/etc/ld.so.conf.d",
    "/etc/libvirt/hooks",
    "/etc/logrotate.d",
    "/etc/modprobe.d",
    "/etc/modules-load.d",
    "/etc/monit",
    "/etc/network",
    "/etc/networkd-dispatcher",
    "/etc/pacman.d",
    "/etc/periodic",
    "/etc/polkit-1",
    "/etc/ppp",
    "/etc/pve",
    "/etc/rsyslog.d",
    "/etc/runit",
    "/etc/s6",
    "/etc/security",
    "/etc/skel",
    "/etc/ssh",
    "/etc/sudoers.d",
    "/etc/supervisor",
    "/etc/sv",
    "/etc/sysctl.d",
    "/etc/systemd",
    "/etc/sysusers.d",
    "/etc/tmpfiles.d",
    "/etc/udev",
    "/etc/update-motd.d",
    "/etc/xdg",
    "/etc/xinetd.d",
    "/etc/yum",
    "/etc/yum.repos.d",
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
    "/etc/bash.bashrc",
    "/etc/bash.bash_logout",
    "/etc/bashrc",
    "/etc/crontab",
    "/etc/csh.cshrc",
    "/etc/csh.login",
    "/etc/doas.conf",
    "/etc/environment",
    "/etc/fstab",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
    "/etc/inetd.conf",
    "/etc/inittab",
    "/etc/inputrc",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/profile",
    "/etc/rc.local",
    "/etc/shells",
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
    "authorized_keys",
    "authorized_keys2",
    "crontab",
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

/// Why a file that is written to may run code; nothing if it is data.
pub(crate) fn runs_code(path: &str) -> Option<&'static str> {
    let Some(parts) = canonical(path) else {
        return Some("where the file is cannot be told beforehand");
    };
    let whole = format!("/{}", parts.join("/"));
    let below = |folder: &str| {
        whole
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
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

/// The least risk of a write to this path, and why.
pub(crate) fn of_path(kind: ToolKind, path: &str) -> (RiskLevel, Option<String>) {
    match (kind, runs_code(path)) {
        (ToolKind::Write, Some(why)) => (RiskLevel::High, Some(format!("the file may run code: {why}"))),
        (ToolKind::Write | ToolKind::Read | ToolKind::Resolve, _) => (RiskLevel::Low, None),
    }
}

/// The least risk of a command that changes something, by the files that it names and what it does, and why.
pub(crate) fn of_command(kind: ToolKind, command: &str) -> (RiskLevel, Option<String>) {
    if kind != ToolKind::Write {
        return (RiskLevel::Low, None);
    }
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || "\"'`;|&<>()=,{}".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let power = ["reboot", "shutdown", "poweroff", "halt", "kexec", "telinit"];
    let programs = words.iter().map(|word| word.rsplit('/').next().unwrap_or(word));
    if programs.clone().any(|word| power.contains(&word)) {
        return (
            RiskLevel::High,
            Some("the command turns a machine off or restarts it".to_owned()),
        );
    }
    let has = |word: &str| words.contains(&word);
    let tool = |name: &str| programs.clone().any(|word| word == name);
    let engine = tool("docker") || tool("podman") || tool("docker-compose") || tool("nerdctl");
    let image = (has("set") && has("image") && tool("kubectl"))
        || (tool("kubectl")
            && ["apply", "replace", "patch", "edit", "create", "run"]
                .into_iter()
                .any(has))
        || (tool("helm") && ["install", "upgrade", "rollback"].into_iter().any(has))
        || (engine
            && [
                "--image", "run", "pull", "load", "import", "create", "up", "update",
            ]
            .into_iter()
            .any(has));
    if image {
        return (
            RiskLevel::High,
            Some("the command changes which image runs".to_owned()),
        );
    }
    let home = |word: &str| {
        let rest = word
            .strip_prefix("~/")
            .or_else(|| word.strip_prefix("$HOME/"))
            .or_else(|| word.strip_prefix("${HOME}/"));
        rest.map(|rest| format!("/root/{rest}"))
    };
    let writes = command.contains('>') || programs.clone().any(|word| WRITERS.contains(&word));
    let named = words
        .iter()
        .filter_map(|word| home(word).or_else(|| word.starts_with('/').then(|| (*word).to_owned())))
        .filter(|path| !SINKS.contains(&path.as_str()));
    for path in named {
        // A program that is called by its path is not written to.
        if runs_code(&path).is_some() && (writes || !is_program(&path)) {
            return (
                RiskLevel::High,
                Some(format!("the command names `{path}`, which may run code")),
            );
        }
    }
    if tool("crontab") || tool("visudo") || tool("update-rc.d") || tool("chmod") && command.contains("+x") {
        return (
            RiskLevel::High,
            Some("the command changes what runs by itself".to_owned()),
        );
    }
    (RiskLevel::Low, None)
}

/// Programs that write the files that they are given.
const WRITERS: &[&str] = &[
    "cat", "chmod", "chown", "cp", "curl", "dd", "echo", "install", "ln", "mv", "patch", "perl", "printf",
    "python", "python3", "rsync", "ruby", "scp", "sed", "tar", "tee", "touch", "truncate", "unzip", "wget",
];

/// What can be written to without a trace.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

/// Whether a path is that of a program, as it is written to call it.
fn is_program(path: &str) -> bool {
    let folders = [
        "/bin/",
        "/sbin/",
        "/usr/bin/",
        "/usr/sbin/",
        "/usr/local/bin/",
        "/usr/local/sbin/",
    ];
    folders.iter().any(|folder| path.starts_with(folder))
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
        for path in [
            "/etc/motd",
            "/etc/hosts",
            "/etc/nginx/nginx.conf",
            "/opt/x",
            "/srv/app/config.yaml",
            "/var/log/app.log",
            "/etc/hostname",
            "/root/notes.txt",
        ] {
            assert_eq!(runs_code(path), None, "{path}");
        }
    }

    #[test]
    fn commands_that_change_power_images_or_what_runs_are_of_high_risk() {
        for command in [
            "reboot",
            "systemctl poweroff",
            "/sbin/shutdown -h now",
            "sleep 5; reboot",
            "kubectl -n shop set image deployment/web web=nginx:2",
            "kubectl apply -f /srv/x.yaml",
            "docker service update --image nginx:2 web",
            "docker run -d nginx",
            "docker compose up -d",
            "helm upgrade web ./chart",
            "echo '* * * * * root id' > /etc/cron.d/x",
            "tee -a ~/.ssh/authorized_keys",
            "cp x /etc/systemd/system/x.service",
            "crontab /srv/x",
            "chmod +x /srv/x",
            "sed -i s/a/b/ \"$HOME/.bashrc\"",
        ] {
            assert_eq!(
                of_command(ToolKind::Write, command).0,
                RiskLevel::High,
                "{command}"
            );
        }
        for command in [
            "systemctl restart nginx",
            "touch /srv/flag",
            "docker restart web",
            "rm /var/tmp/x",
            "kubectl rollout restart deployment/web",
            "echo x > /dev/null",
            "nice /usr/bin/systemctl restart nginx",
        ] {
            assert_eq!(
                of_command(ToolKind::Write, command).0,
                RiskLevel::Low,
                "{command}"
            );
        }
        assert_eq!(of_command(ToolKind::Read, "cat /etc/cron.d/x").0, RiskLevel::Low);
    }
}
