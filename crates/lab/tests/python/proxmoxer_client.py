"""Uses the lab's Proxmox API as somebody else's programs do: with proxmoxer."""

import os
import time

import urllib3
from proxmoxer import ProxmoxAPI, ResourceException
from proxmoxer.tools import Tasks

PORT = int(os.environ["LAB_PORT"])
USER = os.environ["LAB_USER"]

# The certificate is made up at each start.
urllib3.disable_warnings()

by_password = ProxmoxAPI("127.0.0.1", port=PORT, user=USER, password=os.environ["LAB_PASSWORD"], verify_ssl=False)
by_token = ProxmoxAPI(
    "127.0.0.1",
    port=PORT,
    user=USER,
    token_name=os.environ["LAB_TOKEN"],
    token_value=os.environ["LAB_SECRET"],
    verify_ssl=False,
)


def follow(api, upid):
    status = Tasks.blocking_status(api, upid, timeout=30, polling_interval=0.05)
    assert status is not None and status["status"] == "stopped", status
    return status["exitstatus"]


try:
    ProxmoxAPI("127.0.0.1", port=PORT, user=USER, password="wrong", verify_ssl=False)
    raise SystemExit("a wrong password was taken")
except Exception as error:
    assert "Couldn't authenticate" in str(error), error

for api in (by_password, by_token):
    assert {node["node"] for node in api.nodes.get()} == {"delly", "minipc", "tower"}
    assert api.version.get()["release"].startswith("8.")
    guests = {guest["vmid"]: guest for guest in api.cluster.resources.get(type="vm")}
    assert guests[141]["name"] == "homepage" and guests[204]["status"] == "stopped"

# Starts a guest that is stopped, follows its task to its end and reads its log.
delly = by_password.nodes("delly")
upid = delly.lxc(142).status.start.post()
assert Tasks.decode_upid(upid)["type"] == "vzstart", upid
assert follow(by_password, upid) == "OK"
assert delly.lxc(142).status.current.get()["status"] == "running"
assert Tasks.decode_log(delly.tasks(upid).log.get()).endswith("TASK OK")
assert any(task["upid"] == upid for task in delly.tasks.get())
assert any(task["upid"] == upid for task in by_token.cluster.tasks.get())

# What cannot be done is an exception with the words of the server.
try:
    delly.lxc(142).status.start.post()
    raise SystemExit("it was started twice")
except ResourceException as error:
    assert error.status_code == 500 and "CT 142 already running" in str(error), error

# Moves it, by token.
upid = by_token.nodes("delly").lxc(142).migrate.post(target="minipc", restart=1)
assert follow(by_token, upid) == "OK"
assert [guest["vmid"] for guest in by_token.nodes("minipc").lxc.get()] == ["142"]

# Runs a program in a virtual machine.
agent = by_token.nodes("delly").qemu(203).agent
pid = agent.exec.post(command=["sh", "-c", "cat /etc/motd; exit 4"])["pid"]
deadline = time.time() + 30
while True:
    status = agent("exec-status").get(pid=pid)
    if status["exited"]:
        break
    assert time.time() < deadline
    time.sleep(0.05)
assert status["exitcode"] == 4 and status["out-data"] == "this is database\n", status
print("all good")
