//! Commands written to be taken for what they are not. Each once passed, or is a neighbour of one that did.

use interlock_shell::{classify, path_holds_secrets};

#[test]
fn what_writes_or_runs_in_disguise_is_refused() {
    for command in [
        // awk: several sources, statements that go on, slashes that are no division, brackets, other awks' flags
        "awk -e 'BEGIN{print > \"x\"}' -e 1 f",
        "awk '{print $1,\n$2 > \"x\"}' f",
        "awk '{if (1) /#/; print > \"x\"}' f",
        "awk '{if (0) exit /#/; print > \"x\"}' f",
        "awk '{z = length /#/; print > \"x\"}' f",
        "awk '!/[[:space:]/]#/ {print > \"x\"}' f",
        "awk '!/[]/]#/ {print > \"x\"}' f",
        "awk -h 'BEGIN{print > \"x\"}'",
        "awk --assign 'BEGIN{print > \"x\"}' 1 f",
        "awk -F * '{print}' f",
        // braces that close later than they seem
        "sort {f\"}\",-o} x",
        "sort {f\\},-o} x",
        "find / {x'}',-delete}",
        // a value that becomes several arguments
        "sort -k * f",
        "find . -name * -print",
        "env -u $x ls",
        "env -u * ls",
        "env --unset $x ls",
        // xargs and find, as other versions read them
        "echo -ox | xargs -I% -n2 sort f",
        "echo -ox | xargs -I% -L1 sort f",
        "echo -ox | xargs -i -L1 sort f",
        "find f -exec echo 'y{}' + -exec touch x ';'",
        "find -files0-from list -exec sort {} \\;",
        // quoting that shells read differently
        "sort $'-k' -o x f",
        "echo \"${x:-'}\" ; touch y; echo \"'}\"",
        "cat <<E\n$\\\n(touch y)\nE",
        "echo \"${x:-\"$\"(touch y)}\"",
        "cat <<E\n${x:-$\"(\"touch y)}\nE",
        "echo $\\\n(touch y)",
        "cat <\\\n(touch y)",
        "[[ a || reboot ]]",
        "[[ x =~ a|reboot ]]",
        "[[ a > b ]]",
        "((1>2))",
        "((*))",
        "( (*) )",
        "echo a &>/dev/null rm",
        "ls f &>>/dev/null rm f",
        "&>/dev/null ls",
        // connections and devices that act when they are read
        "x=/dev/tcp/h/80; cat < \"$x\"",
        "cat < /dev/tcp/h/80",
        "head -c1 /dev/watchdog",
        "head -c1 /proc/kmsg",
        // a test that evaluates a subscript
        "x=-v; test ! \"$x\" 'a[$(id)]'",
        "x=-v; [ '(' \"$x\" 'a[$(id)]' ')' ]",
        "x=-v; test a -a \"$x\" 'a[$(id)]'",
        // archives and sub-commands
        "bsdtar -tf x.tar -W use-compress-program=/tmp/p.sh",
        "tar -tf x.tar -T list",
        "tar -tf host:x.tar",
        "kubectl -R get replace -f x.yaml",
        "glab -d version mr close 5",
        "sed -l 'w x' p",
        "printf %n PATH",
        "printf \"$f\" x",
        "POSIXLY_CORRECT=1 uniq a -c",
        "LANG=/tmp/evil ls",
        "TZ=../../tmp/evil date",
        "sed 'ba  s/b/x/w y' f",
        "curl gopher:/127.0.0.1:6379/_FLUSHALL",
        "curl dict.example.com/d:x",
        "zsh -c '</etc/hosts'",
        "/tmp/ls",
        "./ls",
        "/usr/bin/../../tmp/ls",
    ] {
        let verdict = classify(command);
        assert!(
            !verdict.is_bounded_read(),
            "{command:?} passes: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn sed_scripts_that_implementations_read_differently_are_refused() {
    for command in [
        "sed -n '/[^]/p;#]/e touch /tmp/x' f",
        "sed -n '/[]/p;#]/e touch /tmp/x' f",
        "sed 's/[]/]/x/e' f",
        "sed 's/[^]/]*/x/;s/]/e/' f",
        "sed 's/[[:alpha:][]/x/;w y\n#]/' f",
        "sed 's/[a\n]/b/' f",
        "sed 's/[\\]/x/;w y;s/]//' f",
        "sed '\\na/p;e id\nn' f",
        "sed 's\na\nid\ne' f",
        "sed 'sxaxidxe' f",
        "sed 's a id e' f",
        "sed 'y/[/]/;w x/' f",
        "sed 's/a/b/ w x' f",
        "sed 's/a/b/ e' f",
        "sed 'T#b;w x' f",
        "sed ':a;a\\\nw x' f",
        "sed -e 'a\\' -e 'w x' f",
        "sed -e 'a\\\t' -e 'w x' f",
        "sed -e 'i foo\\' -e 'e id' f",
        "sed -e 's/a/b' -e 'w x/' f",
        "sed '# x\\\nw x' f",
        "sed 'r f;w x' f",
        "sed '1{r f}' f",
        "sed 'w x' -e p f",
        "sed p f -e 'w x'",
        "sed -e p f -e p",
        "sed 'w x' --version",
        "sed -n 'pw x' f",
        "sed 'b}w x' f",
        "sed -f s f",
        "sed -nf s f",
        "sed --file=s f",
        "sed -s -i p f",
        "sed -z -n --in-place p f",
        "sed -E 's/(a)/id/e' f",
        "sed --posix 's/a/b/w x' f",
        "sed '#n\nw x' f",
    ] {
        let verdict = classify(command);
        assert!(
            !verdict.is_bounded_read(),
            "{command:?} passes: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn awk_programs_that_implementations_read_differently_are_refused() {
    for command in [
        "awk 'BEGIN{y=case /2;print \"id\"|\"sh\";z=1/3}' f",
        "awk 'BEGIN{y=default /2;print \"id\"|\"sh\";z=1/3}' f",
        "awk 'BEGIN{y=length /2;print \"id\"|\"sh\";z=1/3}' f",
        "awk 'BEGIN{y=x++ /2;print \"id\"|\"sh\";z=1/3}' f",
        "awk 'BEGIN{ARGV[1]=\"/etc/shadow\"} 1' f",
        "awk 'BEGIN{ARGC=1} 1' f",
        "awk -v ARGC=1 1 f",
        "awk -vENVIRON=1 1 f",
        "awk 1 ARGC=5 f",
        "awk -v \"$x\" 1 f",
        "awk '{getline < \"/etc/shadow\"; print}' f",
        "awk '{while ((getline x < \"f\") > 0) print x}' f",
        "awk 1 f -f s",
        "awk -f s f",
        "awk -i inplace 1 f",
        "awk -e 1 -e 'BEGIN{system(\"id\")}' f",
        "gawk '@include \"s\"\n1' f",
        "gawk 'BEGIN{f=\"system\";@f(\"id\")}'",
        "gawk 'BEGIN{print awk::x}'",
        "gawk 1 /inet/tcp/0/h/1",
        "awk 'func f(){print|\"sh\"} {f()}' f",
        "awk 'BEGINFILE{print > \"x\"}' f",
        "awk 'BEGIN{switch(1){case 1:print > \"x\"}}'",
        "awk '/[]/]/{print > \"x\"} #/' f",
        "awk '# x\\\nBEGIN{print > \"x\"}' f",
        "awk '{print \"\\x22;print > \\x22x\"}' f",
        "awk '{close(\"x\")}' f",
    ] {
        let verdict = classify(command);
        assert!(
            !verdict.is_bounded_read(),
            "{command:?} passes: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn what_shells_read_differently_is_refused() {
    for command in [
        "! [[ -n x && rm = f ]]",
        "[[ -n x && -f f ]]",
        "[[\nrm = f ]]",
        "[[ a == #b ]]",
        "echo \"$((1)>2))\"",
        "echo $((1)>2))",
        "echo \"$((1)|(2))\"",
        "cat <<E\n$((1)>2))\nE",
        "echo $((1++2))",
        "echo $((1=2))",
        "echo $((2**3))",
        "uniq f 10>/dev/null",
        "uniq f 01>/dev/null",
        "uniq f 12<g",
        "ls >&1-",
        "ls 2>&1-",
        "cd /etc &>/dev/null; cat shadow",
        "read x &>/dev/null",
        "sed 's/a/b/'{w,x}' y' f",
        "echo a\u{a0}b",
        "echo \"é\\\"; touch y; echo \\\"\"",
    ] {
        let verdict = classify(command);
        assert!(
            !verdict.is_bounded_read(),
            "{command:?} passes: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn what_never_ends_in_disguise_is_unbounded() {
    for command in [
        "until read x; do echo; done </dev/null",
        "echo a | while read x </etc/hosts; do echo; done",
        "echo a | while read -t 0 x; do echo; done",
        "awk 'BEGIN{while(1);}'",
        "awk 'BEGIN{for(;;);}'",
        "x=/dev/zero; cat \"$x\"",
        "for f in /dev/zero; do cat \"$f\"; done",
        "head -n 5",
        "tail -5",
        "cat /dev/stdin",
        "cat -",
        "sleep infinity",
        "sleep $N",
        "sed ':a;ba' f",
    ] {
        let verdict = classify(command);
        assert!(!verdict.bounded, "{command:?} is bounded: {:?}", verdict.reasons);
    }
}

#[test]
fn what_prints_secrets_in_disguise_is_sensitive() {
    for command in [
        "cat ../../../../etc/shadow",
        "cat /mnt/etc/shadow",
        "cat /proc/1/root/etc/shadow",
        "cat /proc/1/cwd/etc/shadow",
        "cat /proc/1/task/1/root/etc/shadow",
        "cat /proc/self/cwd/../etc/shadow",
        "cat /proc/self/task/1/environ",
        "cat ca-key.pem",
        "cat /etc/shad?w",
        "cat /etc/{shadow,hosts}",
        "cd /etc && cat shadow",
        "cat < /etc/shadow",
        "grep -r password /etc",
        "grep -e x /etc/shadow",
        "sed -n 1p /etc/shadow",
        "awk 1 /etc/shadow",
        "dd if=/etc/shadow",
        "strings @/etc/shadow",
        "ps -p 1 -f e",
        "ps -ww e",
        "ps ewwp1",
        "ps auxe",
        "find /etc -name shadow -exec cat {} +",
        "ls | xargs cat",
        "cat \"$FILE\"",
        "echo \"$DB_PASSWORD\"",
        "ssh host cat /etc/shadow",
        "docker exec web env",
        "sh -c 'cat /root/.ssh/id_ed25519'",
        "kubectl get secret/db -o yaml",
        "kubectl get cm,secrets -o json",
        "jq -n '[env]'",
        "curl file:///etc/shadow",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.sensitive,
            "{command:?} is not sensitive: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn ordinary_work_passes_without_a_word() {
    for command in [
        "grep 'a<b' /var/log/syslog",
        "grep '<<EOF' /var/log/syslog",
        "sed ':a;N;$!ba;s/\\n/ /g' /var/log/syslog",
        "sed 's/[^/]*$//' /var/log/syslog",
        "sed -e '/^#/d' -e '/^$/d' -e 's/[[:space:]]*$//' /var/log/syslog",
        "sed -n '/start/,/end/{/start/n;/end/!p}' /var/log/syslog",
        "sed -E 's/^([0-9]+)\\.([0-9]+)/\\2.\\1/; s|/usr|/opt|g' /var/log/syslog",
        "awk 'NR > 1 && $5+0 > 80 {print $6, $5}' /var/log/usage",
        "awk -F'[ :]+' -v n=3 '{c[$n]++} END {for (k in c) printf \"%5d %s\\n\", c[k], k}' /var/log/usage",
        "awk '{if ($1 == \"a\") print \"x\"; else if ($1 ~ /b/) print $2/1024; else next}' /var/log/usage",
        "echo $(( (1 + 2) * 3 ))",
        "[[ -f /etc/hosts ]] && cat /etc/hosts",
        "echo grüße, Welt",
        "docker ps --format {{.Names}}",
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
        "while IFS= read -r line; do echo \"$line\"; done < /etc/hosts",
        "for f in /var/log/*.log; do tail -n 5 \"$f\"; done",
        "ls -la \\\n  /var/log",
        "echo done > /dev/stderr",
        "ps aux | grep [n]ginx",
        "awk '$3 > 80 {print $1}' /var/log/usage",
        "awk '{print ($1 + $2) / 2}' /var/log/usage",
        "awk '/[[:digit:]]+/ {n++} END {print n}' /var/log/usage",
        "sort -k2 -n /var/log/usage | uniq -c | sort -rn | head -20",
        "find /var/log -name '*.gz' -mtime +7 -print0 | xargs -0n1 ls -l",
        "echo {a,b}.log",
        "ls /etc &>/dev/null",
        "cat <<'E'\nplain text\nE",
        "test -f /etc/hosts && echo yes",
        "[ \"$x\" = y ] || echo no",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.is_bounded_read() && !verdict.sensitive,
            "{command:?} is stopped: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn a_path_by_itself_is_judged_by_the_same_knowledge() {
    for path in [
        "/etc/shadow",
        "/root/.ssh/id_rsa",
        "//etc/./shadow",
        "/etc",
        "/",
        "~/.kube/config",
        "/proc/1/environ",
    ] {
        assert!(path_holds_secrets(path), "{path}");
    }
    for path in [
        "/etc/hosts",
        "/var/log/syslog",
        "/opt/homepage/config/services.yaml",
        "/var/log",
    ] {
        assert!(!path_holds_secrets(path), "{path}");
    }
}
