//! What a command does beyond its own arguments: on other systems, in other folders, to other hosts, with other code.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

use std::fs;
use std::path::Path;

use interlock_shell::{Intent, classify};

fn refused(commands: &[&str]) {
    let passing: Vec<&&str> = commands
        .iter()
        .filter(|command| classify(command).intent != Intent::WriteOrUnknown)
        .collect();
    assert!(passing.is_empty(), "called reads: {passing:#?}");
}

fn allowed(commands: &[&str]) {
    let blocked: Vec<String> = commands
        .iter()
        .map(|command| (command, classify(command)))
        .filter(|(_, verdict)| !verdict.is_bounded_read())
        .map(|(command, verdict)| format!("{command}: {:?}", verdict.reasons.first()))
        .collect();
    assert!(blocked.is_empty(), "not bounded reads: {blocked:#?}");
}

fn sensitive(commands: &[&str]) {
    let open: Vec<&&str> = commands
        .iter()
        .filter(|command| {
            let verdict = classify(command);
            !verdict.sensitive && verdict.intent != Intent::WriteOrUnknown
        })
        .collect();
    assert!(open.is_empty(), "not called sensitive: {open:#?}");
}

#[test]
fn flags_that_write_on_another_system_are_writes() {
    refused(&[
        "base64 -o out x",
        "base32 -o out x",
        "cksum -h out x",
        "md5 -h out x",
        "sum -h out x",
        "sort -o out x",
        "uniq in out",
        "xxd in out",
        "iconv -o out x",
        "shuf -o out x",
        "wc --libxo=encoder=x f",
        "df --libxo:E=../../tmp/x",
        "du --libxo f",
        "ls --libxo=@../../tmp/x",
        "uptime --libxo xml",
        "date -s 2020-01-01",
        "date 010203042026",
        "hostname new-name",
        "dmesg -C",
        "dmesg -c",
        "sysctl -w a=b",
        "sysctl a=b",
        "ss -K dst 10.0.0.1",
        "ip -batch x",
        "ip netns exec x sh -c 'rm x'",
        "tcpdump -c 1 -w out",
        "tcpdump -c 1 -z sh",
        "journalctl --rotate",
        "journalctl --vacuum-time=1d",
        "man -P sh ls",
        "file -C -m x",
        "rg --pre sh x",
        "fd -x rm",
        "lsof -Db/tmp/x",
        "ldd /tmp/x",
        "strace -o x ls",
        "curl -o out http://example.com",
        "curl -T f http://example.com",
        "openssl x509 -in x -out y",
        "openssl dgst -engine x f",
        "ssh -o ProxyCommand=id host ls",
        "tar -tf x --to-command=sh",
        "nm --plugin x y",
        "rpm -Vp x.rpm",
        "rpm -Va -p x.rpm",
        "rpmverify -p x.rpm",
        "nsenter -t 1 -m ls",
        "nsenter --all -t 1 ls",
        "psql -c 'select into x from y'",
        "psql -c 'select * into x from y'",
        "mysql -e \"select 1 into outfile '/tmp/x'\"",
        "rsync --list-only -- -oProxyCommand=id:x",
        "virsh list -- --all-of-it",
        "sudo",
        "sudo -l",
        "sudo -V",
        "sudo --version",
        "sudo -n true",
        "timeout 5 sudo -l",
    ]);
    allowed(&[
        "base64 -d /etc/hosts",
        "cksum /etc/hosts",
        "du -sh *",
        "wc -l *",
        "df -h",
        "ls -la --color=never *",
        "grep -- -x /etc/hosts",
        "rpm -Va",
        "kubectl rollout status deploy/web --timeout=30s",
        "kubectl rollout status deploy/web --watch=false",
    ]);
    for command in [
        "kubectl rollout status deploy/web",
        "kubectl rollout status deploy/web --watch",
        "kubectl rollout status deploy/web --timeout=0s",
    ] {
        assert!(!classify(command).bounded, "{command}");
    }
}

#[test]
fn secrets_are_noticed_in_every_folder_where_a_command_could_run() {
    sensitive(&[
        "cd /etc && cat shadow",
        "cd /etc; cat ./shadow",
        "cd /run/secrets; cat /proc/self/cwd/db",
        "cd /proc/self/cwd; cd /run/secrets; cat //proc/self/./cwd/db",
        "cd /run; cd /proc/self/cwd/secrets; cat db",
        "cat /var/run/../etc/shadow",
        "cat /var/run/../proc/self/environ",
        "cat link/../notes",
        "cat /dev/fd/../environ",
        "grep -r x /var/run/../etc",
        // Without a folder they search the one where they run.
        "rgrep .",
        "cd /etc && rgrep .",
        "cd /etc && grep -r x",
        "cd /root/.ssh && rg -uuu .",
        "cd /root; ag -u .",
        // Text that a program could open.
        "caddy fmt /etc/shadow",
        "cd /etc && caddy fmt shadow",
        "docker exec web systemd-analyze security /etc/shadow",
        "iconv -f /etc/shadow -t utf8 y",
        "networkctl cat wg0.netdev",
        "cat /run/cloud-init/instance-data-sensitive.json",
        "cat /var/lib/pve-cluster/config.db",
        "cat /home/x/.ssh/mykey",
        "cat /etc/gitlab-runner/config.toml",
        "sysctl net.ipv6.conf.all.stable_secret",
        "cd /; cat etc/shadow",
        "cd /etc || cd /x; cat shadow",
        "cd /nonexistent; cat shadow",
        "if cd /etc; then cat shadow; fi",
        "(cd /etc; cat shadow)",
        "pushd /etc; cat shadow",
        "cd /etc; pushd /usr; popd; cat shadow",
        "cd /etc; cd /usr; cd -; cat shadow",
        "cd -; cat notes",
        "cd \"$x\"; cat notes",
        "cd /etc; grep root s*",
        "cd /etc; head -n 1 {hosts,shadow}",
        "cd /etc; cat < shadow",
        "cd /etc/ssl; cat ../shadow",
        "for f in shadow; do cat /etc/$f; done",
        "for f in shadow; do cd /etc; cat $f; done",
        "for d in /etc; do cd $d; cat shadow; done",
        "for d in /etc; do cat $d/shadow; done",
        "for i in 1 2; do cat shadow; cd /etc; done",
        "for f in x; do for f in /etc/shadow; do cat $f; done; done",
        "for f in x; do for i in 1 2; do cat $f; f=/etc/shadow; done; done",
        "for f in x; do sh -c 'cat $f'; done",
        "echo /etc/shadow | while read -r f; do cat \"$f\"; done",
        "docker exec -w /etc web cat shadow",
        "docker exec --workdir=/etc web cat shadow",
        "podman exec -w /etc web cat shadow",
        "docker exec web sh -c 'cd /etc; cat shadow'",
        "kubectl exec web -- sh -c 'cd /etc; cat shadow'",
        "ssh host 'cd /etc; cat shadow'",
        "sh -c 'cd /etc; cat shadow'",
        "cd /etc; sh -c 'cat shadow'",
        "git -C /etc diff --no-index /dev/null shadow",
        "find /etc -maxdepth 1 -execdir cat shadow \\;",
        "cd /root/.ssh; cat id_rsa",
        "cd /proc/1; cat environ",
        "cd /etc; grep -r x .",
        "cat shadow",
        "cat /etc/../etc/./shadow",
        "cat /proc/self/root/etc/shadow",
    ]);
    refused(&["cd /dev; head -c 1 watchdog", "cd \"$x\"; cat watchdog0"]);
    for command in [
        "cd /var/log && tail -n 20 syslog",
        "cd /etc && cat hosts",
        "cd /etc/nginx; cat nginx.conf; ls",
        "for f in /var/log/*.log; do wc -l \"$f\"; done",
        "for f in hosts hostname; do cat \"$f\"; done",
        "docker exec -w /srv web cat README.md",
        "cat README.md",
        "git -C /srv/app status",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.is_bounded_read() && !verdict.sensitive,
            "{command}: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn files_that_data_names_are_sensitive() {
    sensitive(&[
        "wc --files0-from=-  < list",
        "echo x | wc --files0-from=-",
        "wc --files0-from=list",
        "sort --files0-from=list",
        "sort --files0=list",
        "echo x | sort --files0-from -",
        "echo x | xargs cat",
        "echo x | xargs -I{} head -n 1 {}",
        "xargs cat < list",
        "find / -name x -exec cat {} +",
        "xzcat --files=list",
        "grep -d recurse '' /root",
        "grep --directories=recurse '' /root",
        "grep --dir=recurse '' /root",
        "zcat -fr /root",
        "gzip -cr /root",
        "git diff --no-index /srv /root",
        "git grep --no-index '' /root",
        "cat /dev/sda",
        "head -c 1 /dev/nvme0n1",
        "dd if=/dev/mem count=1",
        "strings /proc/kcore",
        "cat /proc/1/environ",
        "jq . file:///etc/shadow",
        "kubectl get -f /etc/shadow",
        "git blame --contents=/etc/shadow x",
        "sqlite3 -readonly x.db \"select readfile('/etc/shadow')\"",
        "psql -c \"select pg_read_file('/etc/passwd')\"",
        "psql -c \"select lo_import('/etc/passwd')\"",
        "psql -c \"select * from pg_ls_dir('/')\"",
        "mysql -e \"select load_file('/etc/passwd')\"",
        "sqlite3 x.db \"select load_extension('x')\"",
    ]);
    refused(&[
        "head -c 1 /dev/watchdog",
        "head -c 1 /dev/watchdog0",
        "cat < /dev/watchdog",
        "head -c 1 /dev/ttyS0",
        "head -c 1 /dev/input/event0",
        "head -c 1 /dev/cpu/0/msr",
        "head -c 1 /dev/vport0p1",
        "head -c 1 /dev/unheard-of",
        "head -c 1 /dev/*",
        "cat /run/docker.sock",
        "cat < /run/app.fifo",
        "az vm list --query @/etc/shadow",
        "az vm list --query=@/etc/shadow",
        "dd if=/dev/watchdog count=1",
        "wc -c /dev/watchdog",
        "cat < /dev/tcp/10.0.0.1/80",
        "aws ec2 describe-instances --cli-input-json file:///etc/shadow",
        "aws ec2 describe-instances --cli-input-json=file:///etc/shadow",
        "aws ec2 describe-instances --filters file://x.json",
        "aws ec2 describe-instances --filters=file://x.json",
        "aws dynamodb get-item --table-name t --key file:///etc/shadow",
        "aws dynamodb query --table-name=file:///etc/shadow",
        "xargs -a list cat",
        "tar -tf x -T list",
        "find -files0-from list",
    ]);
}

#[test]
fn addresses_mark_the_network() {
    for command in [
        "curl --connect-to example.com:443:10.0.0.1:443 https://example.com",
        "curl --connect-to ::10.0.0.1: http://localhost",
        "curl --resolve example.com:443:10.0.0.1 https://example.com",
        "curl -x 10.0.0.1:3128 http://localhost/",
        "curl --doh-url https://10.0.0.1/q http://localhost/",
        "rpm -qip http://example.com/x.rpm",
        "rpm -qlp ftp://example.com/x.rpm",
        "rpm -K https://example.com/x.rpm",
        "pacman -Qip http://example.com/x.pkg",
        "apk search --repository http://example.com/alpine nginx",
        "virsh -c qemu+ssh://root@10.0.0.5/system list --all",
        "virsh -c qemu+tcp://10.0.0.5/system list",
        "virsh --connect=xen+ssh://h/ list",
        "virt-top --connect qemu+ssh://h/system -n 1",
        "pip list -i http://10.0.0.1/simple --outdated",
        "pip list --outdated --index-url=http://10.0.0.1/simple",
        "pip list --proxy http://10.0.0.1:3128",
        "pip list -o",
        "pip index versions requests -i http://10.0.0.1/simple",
        "npm view express --registry http://10.0.0.1",
        "npm outdated",
        "gem list -r",
        "docker -H tcp://10.0.0.1:2375 ps",
        "docker --host=ssh://root@10.0.0.1 ps",
        "docker --context remote ps",
        "podman --remote ps",
        "podman --url ssh://root@h/run/podman.sock ps",
        "ctr -a tcp://10.0.0.1:1 c ls",
        "crictl -r tcp://10.0.0.1:2 ps",
        "kubectl --server https://10.0.0.1:6443 get pods",
        "kubectl -s https://10.0.0.1:6443 get pods",
        "kubectl --context other get pods",
        "kubectl --cluster=other get pods",
        "helm list --kube-apiserver https://10.0.0.1:6443",
        "helm --kube-context x list",
        "helm show chart x --repo https://example.com",
        "git ls-remote https://example.com/x.git",
        "git ls-remote git@example.com:x.git",
        "psql -h 10.0.0.1 -c 'select 1'",
        "psql postgresql://u@10.0.0.1/db -c 'select 1'",
        "psql 'host=10.0.0.1 dbname=x' -c 'select 1'",
        "mysql -h 10.0.0.1 -e 'select 1'",
        "redis-cli -h 10.0.0.1 info",
        "redis-cli -u redis://10.0.0.1:6379 info",
        "etcdctl --endpoints=https://10.0.0.1:2379 member list",
        "consul members -http-addr=http://10.0.0.1:8500",
        "vault status -address=https://10.0.0.1:8200",
        "nomad status -address=http://10.0.0.1:4646",
        "aws s3 ls --endpoint-url http://10.0.0.1",
        "hg identify https://h/x",
        "skopeo inspect docker://docker.io/library/nginx",
        "systemctl -H root@10.0.0.1 status",
        "tcpdump -i rpcap://10.0.0.1/eth0 -c 1",
        "rabbitmqctl -n rabbit@10.0.0.1 status",
        "rbd -m 10.0.0.1 ls",
        "ldapsearch -H ldap://10.0.0.1 -x",
        "snap find x",
        "flatpak remote-ls",
        "last -d",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.network || verdict.intent == Intent::WriteOrUnknown,
            "{command} is not marked: {:?}",
            verdict.reasons
        );
    }
    for command in [
        "virsh -c qemu:///system list",
        "grep http://example.com /var/log/nginx/access.log",
        "echo http://example.com",
        "kubectl get pods",
    ] {
        let verdict = classify(command);
        assert!(!verdict.network, "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn code_from_the_working_folder_is_not_a_read() {
    refused(&[
        "mvn --version",
        "mvn dependency:tree",
        "gradle --version",
        "gradle tasks",
        "yarn --version",
        "yarn list",
        "pnpm ls",
        "cargo --version",
        "cargo tree --locked",
        "cargo metadata --locked",
        "rustup show",
        "rustup --version",
        "uv pip list",
        "uv python find",
        "poetry show",
        "poetry env info",
        "bundle --version",
        "composer show",
        "packer validate .",
        "knife node list",
        "vagrant status",
        "helmfile list",
        "make -n",
        "python -m pip list",
        "perl -I. -MFoo -e 1",
        "pre-commit --version",
        "cd /tmp/x && terraform show",
        "cd /tmp/x; terraform validate",
        "terraform -chdir=/tmp/x show",
        "cd \"$x\"; terraform version",
        "(cd /tmp/x; ansible-inventory --list)",
        "cd /tmp/x && ansible-doc -l",
        "cd /tmp/x && ansible --version",
        "cd /tmp/x && npm ls",
        "cd /tmp/x && go version",
        "cd /tmp/x && rustc --version",
        "docker exec -w /tmp/x web terraform show",
        "git verify-commit HEAD",
        "git log --show-signature",
        "git log --format=%G?",
        "git tag -v v1",
        "git -c core.fsmonitor=/tmp/x status",
    ]);
    allowed(&[
        "terraform show",
        "terraform validate -json",
        "ansible-inventory --list",
        "uv pip list --system",
        "composer --no-plugins show",
        "rustup toolchain list",
        "npm ls -g",
        "git status",
        "git log --oneline -n 20",
        "git -C /srv/app log -n 1",
        "cd /srv/app && git status",
    ]);
}

/// One program of the table, as far as the laws below need it.
struct Program {
    names: String,
    /// What it does not list, or what looks like a flag, is known to read.
    trusts: bool,
    allow: Vec<String>,
}

fn any(entry: &toml::Table, holds: &dyn Fn(&toml::Table) -> bool) -> bool {
    holds(entry)
        || ["sub", "when"].iter().any(|key| {
            entry
                .get(*key)
                .and_then(toml::Value::as_table)
                .into_iter()
                .flat_map(|parts| parts.values())
                .filter_map(toml::Value::as_table)
                .any(|part| any(part, holds))
        })
}

fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut programs = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let family: toml::Table = fs::read_to_string(&file)
            .unwrap()
            .parse()
            .expect("the table is TOML");
        for program in family["program"].as_array().expect("programs") {
            let entry = program.as_table().expect("a program");
            let text = |part: &toml::Table, key: &str| {
                part.get(key)
                    .and_then(toml::Value::as_str)
                    .unwrap_or("")
                    .to_owned()
            };
            let trusts = any(entry, &|part| {
                part.contains_key("systems")
                    || part.contains_key("inspect")
                    || part.contains_key("dashes")
                    || text(part, "style") == "words"
                    || text(part, "operands")
                        .split_whitespace()
                        .any(|kind| matches!(kind, "cmd" | "shell" | "sql"))
            });
            programs.push(Program {
                names: text(entry, "names"),
                trusts,
                allow: entry
                    .get("allow")
                    .and_then(toml::Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(toml::Value::as_str)
                    .filter(|example| !example.contains(['|', ';', '&', '<', '>', '(', '$', '\n']))
                    .filter(|example| !example.contains("--help") && !example.contains("--version"))
                    .map(str::to_owned)
                    .collect(),
            });
        }
    }
    programs
}

/// Every example of every entry that names no systems, with something behind it that the entry cannot know.
fn law(addition: &str) {
    let mut passing = Vec::new();
    let mut tried = 0;
    for program in programs().iter().filter(|program| !program.trusts) {
        // The example must be a call of this very program.
        let own = |example: &&String| {
            let name = example.split_whitespace().next().unwrap_or("");
            let name = name.rsplit('/').next().unwrap_or(name);
            program.names.split_whitespace().any(|known| known == name)
        };
        for example in program.allow.iter().filter(own) {
            tried += 1;
            let command = format!("{example} {addition}");
            if classify(&command).is_bounded_read() {
                passing.push(command);
            }
        }
    }
    assert!(tried > 1000, "only {tried} examples were tried");
    assert!(
        passing.is_empty(),
        "{} of {tried} are called reads:\n{}",
        passing.len(),
        passing.join("\n")
    );
}

#[test]
fn an_unknown_flag_is_a_write_where_no_manual_was_read() {
    law("--flag-of-another-system=x");
}

#[test]
fn an_unknown_flag_without_a_value_is_a_write_where_no_manual_was_read() {
    law("--flag-of-another-system");
}

#[test]
fn an_operand_that_looks_like_a_flag_is_a_write_where_no_manual_was_read() {
    law("-- --flag-of-another-system");
}

#[test]
fn flags_that_reach_a_local_socket_say_so() {
    for command in [
        "curl --unix-socket /run/docker.sock http://localhost/info",
        "curl -s --abstract-unix-socket x http://localhost/info",
        "udevadm settle -t 1",
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read() && verdict.needs.unix, "{command}");
    }
    assert!(!classify("curl http://localhost/info").needs.unix);
}

#[test]
fn what_prints_stored_secrets_or_whole_environments_is_sensitive() {
    sensitive(&[
        "docker inspect web",
        "docker inspect -f '{{.Config.Env}}' web",
        "docker inspect --format='{{json .Config}}' web",
        "docker inspect -f '{{json .}}' web",
        "docker inspect -f json web",
        "docker inspect -f '{{.State.Status}}' -f '{{.Config.Env}}' web",
        "docker inspect -f \"$T\" web",
        "docker ps -q | xargs docker inspect",
        "docker container inspect web",
        "docker container inspect -f '{{range .Config.Env}}{{.}}{{end}}' web",
        "docker service inspect web",
        "docker service inspect --pretty web",
        "docker plugin inspect x",
        "podman inspect web",
        "podman container inspect web",
        "podman generate kube web",
        "podman kube generate web",
        "nerdctl inspect web",
        "nerdctl container inspect web",
        "crictl inspect abc",
        "ctr containers info x",
        "ctr c info x",
        "docker exec web env",
        "docker exec web printenv",
        "docker compose exec -T web env",
        "docker compose config",
        "docker-compose config",
        "docker stack config -c x.yml",
        "kubectl exec pod -- env",
        "kubectl exec pod -- sh -c 'env | sort'",
        "kubectl get secret x -o yaml",
        "kubectl get pods,secrets -o json",
        "kubectl config view --raw",
        "env",
        "printenv",
        "set",
        "export -p",
        "declare -p",
        "ps e",
        "ps auxe",
        "ps aux e",
        "ps eww",
        "ps -E",
        "ps -AE",
        "ps -eo pid,environ",
        "cat /proc/1/environ",
        "xargs -0 -n1 < /proc/self/environ",
        "systemctl show nginx",
        "systemctl show -p Environment nginx",
        "systemctl show -pEnvironment nginx",
        "systemctl show -P Environment nginx",
        "systemctl show --property=MainPID,Environment nginx",
        "systemctl show -p MainPID -p Environment nginx",
        "systemctl show -p SetCredential nginx",
        "systemctl show -p \"$P\" nginx",
        "systemctl show-environment",
        "busctl get-property org.freedesktop.systemd1 /o/u/nginx org.freedesktop.systemd1.Service Environment",
        "busctl introspect org.freedesktop.systemd1 /o/u/nginx",
        "journalctl -F COREDUMP_ENVIRON",
        "journalctl -o json --output-fields=COREDUMP_ENVIRON",
        "lxc config show web",
        "incus config show web --expanded",
        "lxc config get web environment.PASSWORD",
        "consul kv get app/password",
        "consul kv get -recurse",
        "etcdctl get /app",
        "etcdctl get --prefix /",
        "nomad job inspect web",
        "nomad inspect web",
        "nomad var get x",
        "vault kv get secret/x",
        "vault read secret/x",
        "terraform show",
        "terraform state show x",
        "terraform output",
        "helm get values web",
        "git config -l",
        "git config --list --show-origin",
        "git config list",
        "git config --get-regexp .",
        "git config --get http.extraheader",
        "pip config list",
        "pip config get global.index-url",
        "ceph config dump",
        "pcs config",
        "pcs cluster cib",
        "pcs stonith config",
        "cibadmin -Q",
        "crm configure show",
        "consul watch -type=key -key=app/password",
        "tree --fromfile x",
        "echo $MYSQL_PWD",
        "echo $DATABASE_URL",
        "aws lambda get-function --function-name x",
        "aws lambda get-function-configuration --function-name x",
        "aws lambda list-functions",
        "aws ecs describe-task-definition --task-definition x",
        "aws ec2 describe-instance-attribute --attribute userData --instance-id i",
        "aws codebuild batch-get-projects --names x",
        "aws cognito-idp describe-user-pool-client --client-id x",
        "aws ssm get-parameter --name x --with-decryption",
        "aws secretsmanager get-secret-value --secret-id x",
        "aws anything get-service-token",
        "gcloud run services describe x",
        "gcloud beta run services describe x",
        "gcloud functions describe x",
        "gcloud compute instances describe x",
        "az container show -n x -g y",
        "az containerapp show -n x -g y",
        "az keyvault secret show --name x --vault-name y",
        "redis-cli config get requirepass",
        "psql -c 'select * from pg_authid'",
        "psql -c 'select subconninfo from pg_subscription'",
        "mysql -e 'select * from mysql.user'",
        "mysql -e 'select * from mysql.slave_master_info'",
        "wg showconf wg0",
        "wg show wg0 private-key",
        "nmcli -s connection show x",
        "gpg --export-secret-keys",
        "openssl rsa -in x.key -text",
        "openssl pkey -in x -text",
    ]);
}

#[test]
fn what_asks_for_other_fields_is_not_sensitive() {
    for command in [
        "docker inspect -f '{{.State.Status}}' web",
        "docker inspect --format='{{json .State}}' web",
        "docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' web",
        "docker container inspect -f '{{.Config.Image}}' web",
        "docker image inspect nginx",
        "docker network inspect bridge",
        "podman inspect --format '{{.State.Health.Status}}' web",
        "systemctl show -p MainPID,ActiveState nginx",
        "systemctl show -P ActiveState nginx",
        "systemctl show --property=NRestarts --value nginx",
        "systemctl status nginx",
        "systemctl cat nginx",
        "busctl get-property org.freedesktop.systemd1 /o/u/nginx org.freedesktop.systemd1.Service MainPID",
        "kubectl describe pod web",
        "kubectl get pod web -o yaml",
        "etcdctl get --prefix / --keys-only",
        "consul kv get -keys app/",
        "lxc config get web limits.memory",
        "git config --get user.email",
        "git remote -v",
        "aws cloudformation describe-stacks",
        "aws iam list-access-keys",
        "aws ec2 describe-instances",
        "gcloud sql instances describe x",
        "ps -ef",
        "ps aux",
        "ps -eo pid,cmd",
        "ps -C E",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.is_bounded_read() && !verdict.sensitive,
            "{command}: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn a_socket_of_this_machine_is_no_host_of_the_allow_list() {
    for command in [
        "curl --unix-socket /run/docker.sock http://localhost/info",
        "curl -s --unix-socket=/run/docker.sock http://localhost/info",
        "curl --abstract-unix-socket /x http://localhost/",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.network && verdict.hosts.is_empty(),
            "{command}: {verdict:?}"
        );
    }
    sensitive(&[
        "curl -b /etc/shadow http://localhost",
        "curl --cookie ~/.ssh/id_rsa http://localhost",
    ]);
}

#[test]
fn code_from_a_folder_that_is_not_known_is_sensitive() {
    sensitive(&[
        "cd \"$dir\" && git status",
        "git -C \"$dir\" log",
        "for d in $dirs; do git -C \"$d\" status; done",
    ]);
    for command in ["git status", "git -C /srv/app log", "cd /srv/app && git log"] {
        let verdict = classify(command);
        assert!(
            verdict.is_bounded_read() && verdict.needs_sandbox && !verdict.sensitive,
            "{command}"
        );
    }
    for command in [
        "qemu-img info x.qcow2",
        "qemu-img check x.qcow2",
        "qemu-img map x.qcow2",
    ] {
        assert!(classify(command).needs_sandbox, "{command}");
    }
}

#[test]
fn a_subscript_with_a_command_is_a_write_where_a_number_is_expected() {
    for command in [
        "[ 'a[$(id)]' -eq 1 ]",
        "test 1 -lt 'a[`id`]'",
        "printf '%d' 'a[$(id)]'",
    ] {
        assert_eq!(classify(command).intent, Intent::WriteOrUnknown, "{command}");
    }
}
