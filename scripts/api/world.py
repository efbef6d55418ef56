"""The simulated cluster, the real server over it, a person for each role, and schemathesis on all of them in turn."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCOPES = {
    "viewer": ["read"],
    "operator": ["read", "operate"],
    "approver": ["read", "operate", "approve"],
    "admin": ["read", "operate", "approve", "admin"],
}


def started(command, env):
    """Starts a program and waits for the JSON document with which it says that it is ready."""
    log = tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False)
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
    out = ""
    for line in child.stdout:
        out += line
        try:
            return child, json.loads(out)
        except json.JSONDecodeError:
            continue
    child.wait()
    sys.exit(f"`{' '.join(map(str, command))}` ended with {child.returncode}:\n{Path(log.name).read_text()[-2000:]}")


class Server:
    """What is asked before schemathesis asks."""

    def __init__(self, url):
        self.url = url

    def ask(self, method, path, body=None, headers=None):
        request = urllib.request.Request(self.url + path, method=method, headers={"origin": self.url, **(headers or {})})
        if body is not None:
            request.add_header("content-type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.headers, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path} answered {error.code}: {error.read().decode()}")

    def sign_in(self, link):
        """The headers of a browser that came by a link."""
        headers, me = self.ask("POST", "/api/v1/auth/link", {"link": link.split("#link=")[1]})
        cookie = headers["set-cookie"].split(";")[0]
        return {"cookie": cookie, "x-csrf-token": me["csrf"]}

    def token(self, browser, role):
        new = {"name": "schemathesis", "scopes": SCOPES[role], "days": 1}
        _, made = self.ask("POST", "/api/v1/me/tokens", new, browser)
        return made["token"]["id"], made["secret"]


def configure(folder, lab):
    """The lab's configuration with models that follow a script; nobody is asked to wait."""
    text = re.sub(r"^#.*$", "", (Path(lab) / "interlock.yaml").read_text(), flags=re.M)
    scripts = ROOT / "web/e2e/scripts"
    quick = folder / "quick.yaml"
    quick.write_text("replies:\n  - repeat: forever\n    text: Nothing to report.\n")
    config = {
        **json.loads(text),
        "models": {
            "quick": {"provider": "scripted", "script": str(quick)},
            "restart": {"provider": "scripted", "script": str(scripts / "restart.yaml")},
        },
        "defaults": {"model": "quick"},
        "agents": {"asks": {"description": "Asks for a restart.", "model": "restart"}},
        "chains": {
            "asks": {
                "description": "Asks for a restart.",
                "alert_types": ["service_down"],
                "stages": [{"name": "investigate", "agents": ["asks"]}],
            }
        },
        "server": {"limits": {"requests_per_minute": 10_000_000, "anonymous_per_minute": 1_000_000, "sign_in_attempts": 1000}},
    }
    file = folder / "interlock.yaml"
    file.write_text(json.dumps(config, indent=2))
    return file


def exported(file):
    return dict(re.findall(r"^export (\w+)='(.*)'$", file.read_text(), flags=re.M))


def furnish(server, admin):
    """Something to look at: a session that has an answer, and some that wait for a human."""
    server.ask("POST", "/api/v1/chats", {"message": "what is there?"}, admin)
    for number in range(3):
        alert = {"alert_type": "service_down", "data": {"service": "jellyfin"}, "fingerprint": f"jellyfin-{number}"}
        server.ask("POST", "/api/v1/alerts", alert, admin)
    for _ in range(300):
        _, waiting = server.ask("GET", "/api/v1/approvals", headers=admin)
        if waiting["approvals"]:
            return
        time.sleep(0.1)
    sys.exit("nothing came to wait for a human within 30 s")


def people(server, admin):
    """Somebody of each role: their token, and what must stay so that everybody can go on trying."""
    tokens, own = {}, ["admin"]
    for role in SCOPES:
        _, made = server.ask("POST", "/api/v1/users", {"id": f"the-{role}", "role": role}, admin)
        token, secret = server.token(server.sign_in(made["link"]), role)
        tokens[role] = secret
        own += [token, f"the-{role}"]
    return tokens, own


def main():
    parser = argparse.ArgumentParser(prog="scripts/test-api", add_help=False)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--schemathesis", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--roles", required=True)
    arguments, rest = parser.parse_known_args()
    # Whoever ends this ends the cluster and the server too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = []
    children = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {**os.environ, "XDG_DATA_HOME": f"{name}/data", "XDG_CONFIG_HOME": f"{name}/config"}
        try:
            lab, said = started([arguments.binary, "--json", "lab", "serve", "--speed", "50"], env)
            children.append(lab)
            config = configure(folder, said["folder"])
            env |= exported(Path(said["folder"]) / "credentials.sh")
            command = [arguments.binary, "--json", "--config", config, "--store", f"sqlite:{name}/interlock.db"]
            child, said = started([*command, "serve", "--listen", "127.0.0.1:0"], env)
            children.append(child)
            server = Server(said["url"].rstrip("/"))
            admin = server.sign_in(said["sign_in_link"])
            furnish(server, admin)
            tokens, own = people(server, admin)
            env |= {"TEST_API_URL": server.url, "TEST_API_OWN": ",".join(own), "TEST_API_ADMIN": tokens["admin"]}
            for role in arguments.roles.split(","):
                print(f"\n==> {role}", flush=True)
                env["TEST_API_TOKEN"] = tokens.get(role, "")
                if not tried(arguments, rest, server, folder, env):
                    failed.append(role)
        finally:
            for child in reversed(children):
                child.terminate()
                child.wait()
    if failed:
        sys.exit(f"\nwhat the description does not say, or says otherwise, as: {', '.join(failed)}")
    print("\nevery answer fits the description")


def tried(arguments, rest, server, folder, env):
    """Whether every answer to somebody fitted."""
    secret = env["TEST_API_TOKEN"]
    known = 'openapi.token.bearer = "${TEST_API_TOKEN}"' if secret else ""
    config = folder / "schemathesis.toml"
    config.write_text(f"""
hooks = {json.dumps(str(HERE / "hooks.py"))}
request-timeout = 20
[auth]
auto-signup = false
{known}
""")
    command = [
        arguments.schemathesis, "--config-file", config, "run", f"{server.url}/api/v1/openapi.json",
        "--url", server.url, "--max-examples", arguments.examples,
        # Streams do not end by themselves.
        "--exclude-path-regex", "/(ws|stream)$", *rest,
    ]
    fine = subprocess.run(command, env=env, cwd=folder).returncode == 0
    if secret:
        # Whoever lost their rights on the way has tried nothing since.
        server.ask("GET", "/api/v1/me", headers={"authorization": f"Bearer {secret}"})
    return fine


if __name__ == "__main__":
    main()
