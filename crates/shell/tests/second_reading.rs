//! Commands whose arguments are read a second time, by a shell, by a program with commands of its own, or by a person who may not
//! see a secret. Each table is a class; the laws over the whole table are in `src/table/plain_tests.rs`.

use interlock_shell::{Intent, classify};

#[test]
fn arguments_that_a_script_evaluates_again_are_writes() {
    for command in [
        "shorewall show connections ';touch${IFS}/tmp/x'",
        "shorewall show tc ';nft${IFS}add${IFS}table${IFS}ip${IFS}x'",
        "shorewall show -m chain 'x;id'",
        "shorewall6 show action '$(id)'",
        "xfs_admin -l '/dev/null;touch${IFS}/tmp/x'",
        "xfs_admin -lu '/dev/sda1;reboot'",
        "xfs_admin -l '/dev/null>/tmp/x'",
        "xfs_info '/dev/sda1;id'",
        "xfs_ncheck -l 'X Y'",
        "xfs_bmap -n 'X Y' /srv/x",
        "debsums -d '/x;touch /tmp/x' bash",
        "debsums --admindir='/x;touch /tmp/x' bash",
        "debsums -r '/;touch /tmp/x;' bash",
        "debsums --root='/;id' bash",
        "exiqgrep -c -G 'x;touch /tmp/x'",
        "exinext 'x;touch${IFS}/tmp/x;@b'",
        "snapper diff -x '; touch /tmp/x; #' 1..2",
        "snapper diff --extensions='; touch /tmp/x; #' 1..2",
        "snapper diff --extensions=-u 1..2",
        "selabel_digest -v -f '/srv/a;id'",
        "grubby --info='$(id)'",
        "lsinitrd /boot/x 'a;b'",
        "rkhunter --list '`id`'",
        "chkrootkit 'x;id'",
        "ipsec status 'x;id'",
        "apachectl status 'x;id'",
        "tcptraceroute -q 'a[$(id)]' host",
        "rabbitmqctl list_queues \"x' ; id ; '\"",
        "service \"$X\" status",
        "debsums /srv/*",
        "man 'ls;id'",
        "lsinitramfs '/boot/x y'",
        "pvesh get '/nodes/$(id)'",
        "VBoxManage list 'vms;id'",
        "busybox xfs_admin -l '/dev/null;id'",
        "timeout 5 xfs_admin -l '/dev/null;id'",
        "echo '/dev/null;id' | xargs xfs_admin -l",
    ] {
        assert_eq!(classify(command).intent, Intent::WriteOrUnknown, "{command}");
    }
}

#[test]
fn plain_words_of_scripts_and_any_text_of_compiled_programs_are_still_reads() {
    for command in [
        "shorewall show connections",
        "xfs_info /srv",
        "xfs_admin -l /dev/sda1",
        "debsums -s bash",
        "exiqgrep -c",
        "service ssh status",
        "ufw status verbose",
        "rabbitmqctl list_queues name messages",
        "pvesh get /nodes/pve1/status --output-format json",
        "grep -E 'a|b' '/srv/my file'",
        "zcat /var/log/syslog.*.gz",
        "zgrep -c 'GET /api?x=1' /var/log/nginx/access.log.1.gz",
        "dpkg -l 'linux-image-*'",
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
        "docker ps --format '{{.Names}}'",
        "git log --format='%h %s'",
        "curl -s 'http://localhost:9200/_cluster/health?pretty'",
        "aws ec2 describe-instances --query 'Reservations[].Instances[]'",
        "psql -c 'select 1'",
        "journalctl --grep='a|b' -n 5",
        "yum list 'php*'",
        "ls /srv/$X",
        "vtysh -c 'show ip bgp summary'",
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn a_second_command_behind_a_separator_is_a_write() {
    for command in [
        "ovn-nbctl ls-list -- ls-add",
        "ovn-nbctl lr-list -- lr-add",
        "ovn-nbctl lb-list -- init",
        "ovn-sbctl lflow-list -- del-ssl",
        "ovn-sbctl lflow-list -- del-connection",
        "ovs-vsctl list -- emer-reset",
        "ovs-vsctl -- --if-exists list-br",
        "ovs-vsctl list \"$X\"",
        "ovs-ofctl show br0 -- del-flows br0",
        "vtep-ctl show -- init",
        "nft list ruleset ';' flush ruleset",
        "nft 'list ruleset; flush ruleset'",
        "nft list tables '; add table x'",
        "nft list ruleset '\nflush ruleset'",
        "ip -batch /tmp/x",
        "ip -b /tmp/x",
        "tc -batch /tmp/x",
        "tc -b /tmp/x",
        "bridge -batch /tmp/x",
        "virsh 'list; destroy vm1'",
        "virsh 'list;reboot'",
        "tmux ls ';' kill-server",
        "tmux ls '; kill-server'",
        "tmux 'ls;' kill-server",
        "parted -s /dev/sda print rm 1",
        "parted /dev/sda unit s print mklabel gpt",
        "sqlite3 -readonly /srv/x.db 'select 1' '.shell id'",
        "sqlite3 -readonly /srv/x.db 'select 1; .shell id'",
        "smbclient -L host -c 'ls; del x'",
        "lftp -c 'open host; rm x'",
        "mongosh --eval 'db.x.find(); db.x.drop()'",
        "gdb -p 1 -ex 'shell id'",
        "vtysh -c 'show version' -c 'configure terminal'",
        "vtysh -c 'show version\nconfigure terminal'",
        "chronyc -m tracking makestep",
        "chronyc -m tracking 'makestep'",
        "chronyc 'tracking\nmakestep'",
        "ntpq -c peers -c ':config x'",
        "bluetoothctl show -- power off",
        "targetcli '/ saveconfig' ls",
        "varnishadm 'status\nstop'",
        "varnishadm status '\nstop'",
        "redis-cli ping '\nflushall' | sh",
        "ipmitool exec /tmp/x",
        "psql -c 'select 1' -c 'drop table x'",
        "mysql -e 'select 1; drop table x'",
        "cqlsh -e 'select 1; drop table x'",
        "zpool status -- x && zpool destroy x",
        "supervisorctl status '; stop all'",
        "multipathd show paths '; reconfigure'",
        "multipathd 'show paths; reconfigure'",
        "fail2ban-client status '; stop'",
        "wpa_cli status ';' reconfigure",
        "parallel echo ::: rm",
    ] {
        assert_eq!(classify(command).intent, Intent::WriteOrUnknown, "{command}");
    }
}

#[test]
fn words_that_read_in_one_program_and_write_in_another_are_writes() {
    for command in [
        "cscli doc",
        "lxc snapshot list c1",
        "lxc snapshot show c1",
        "lxc snapshot ls",
        "/usr/bin/lxc snapshot list c1",
        "gh codespace ports visibility 80:public",
        "gh codespace ports forward 80:80",
        "brew outdated",
        "timeshift --list",
        "timeshift --list-snapshots",
        "trace-cmd list",
        "trace-cmd stat",
        "pipx list",
    ] {
        assert_eq!(classify(command).intent, Intent::WriteOrUnknown, "{command}");
    }
    for command in [
        "incus snapshot list c1",
        "gh codespace ports",
        "gh codespace list",
    ] {
        assert!(classify(command).is_bounded_read(), "{command}");
    }
}

#[test]
fn long_counts_and_intervals_are_endless() {
    for (command, ends) in [
        ("shuf -i 1-99999999999", false),
        ("shuf --input-range=1-99999999999", false),
        ("shuf -i 1-99999999999 -n 5", true),
        ("shuf -i 1-100", true),
        ("mongostat -n 100 3600", false),
        ("mongotop --rowcount 100 3600", false),
        ("mongostat -n 10 5", true),
        ("netdiscover -r 192.0.2.0/24", false),
    ] {
        assert_eq!(classify(command).bounded, ends, "{command}");
    }
}

#[test]
fn abbreviations_and_records_that_hold_secrets_are_sensitive() {
    for (command, sensitive) in [
        ("vtysh -c 'show run'", true),
        ("vtysh -c 'show running'", true),
        ("vtysh -c 'show running bgpd'", true),
        ("vtysh -c 'show r'", true),
        ("vtysh -c 'show running-config'", true),
        ("vtysh -c 'show start'", true),
        ("vtysh -c 'show ip route'", false),
        ("vtysh -c 'show bgp summary'", false),
        ("iwlist wlan0 enc", true),
        ("iwlist wlan0 ke", true),
        ("iwlist wlan0 channel", false),
        ("puppet resource user", true),
        ("puppet resource user root", true),
        ("puppet resource package nginx", false),
        ("heroku releases:info -a web", true),
        ("heroku config -a web", true),
        ("doctl databases get x", true),
        ("doctl databases list", true),
        ("doctl apps get x", true),
        ("doctl compute droplet list", false),
        ("nomad alloc status -json abc", true),
        ("nomad alloc status abc", false),
        ("nomad job history -p web", true),
        ("nomad job history web", false),
        ("talosctl read /system/state/config.yaml", true),
        ("talosctl read /proc/version", false),
        ("homectl inspect -j bob", true),
        ("homectl inspect bob", false),
        ("icinga2 object list --type ApiUser", true),
        ("rspamadm configdump", true),
        ("civo instance show web", true),
        ("vultr-cli database get x", true),
        ("crictl info", true),
        ("nats kv get cfg a", true),
        ("journalctl -o verbose -t systemd-coredump", true),
        ("journalctl -o json -n 5", true),
        ("journalctl -ojson-pretty -n 5", true),
        ("journalctl --output=export -n 5", true),
        ("journalctl -o short-iso -n 5", false),
        ("journalctl -o cat -n 5", false),
        ("kubectl get secret -n prod", false),
        ("kubectl get secrets -A", false),
        ("kubectl get secret x -o yaml", true),
        ("kubectl get secret x -oyaml", true),
        ("kubectl get secret x --output=json", true),
        ("kubectl get secret x -v=9", true),
        ("kubectl get secret x --v 9", true),
        ("kubectl get secret x --template='{{.data}}'", true),
        ("oc get secret x -o yaml", true),
        ("openssl x509 -in /etc/ssl/certs/site.pem -noout -text", false),
        ("cat /etc/ssl/private/site.pem", true),
        ("cat /etc/ssl/certs/../private/site.pem", true),
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
        assert_eq!(verdict.sensitive, sensitive, "{command}: {:?}", verdict.reasons);
    }
    for command in [
        "rsync -n -a --filter='merge /etc/shadow' a b",
        "rsync -n -a -f '. /etc/shadow' a b",
        "rsync -n -a --filter='dir-merge /x' a b",
        "rsync -n -a -f ': /x' a b",
        "rsync -n -af'merge,- /etc/shadow' a b",
    ] {
        let verdict = classify(command);
        assert!(!verdict.is_bounded_read() || verdict.sensitive, "{command}");
    }
}
