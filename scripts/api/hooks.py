"""What schemathesis loads: what no description can say.

It must not saw off the branch that it sits on: nobody ends the people and the tokens of the trial. And a request that is
meant to be right names a model, a kind of alert and a hold that there are, and a password that is none to guess.
"""

import os

import requests
import schemathesis

URL = os.environ["TEST_API_URL"]
OWN = {name for name in os.environ["TEST_API_OWN"].split(",") if name}
ADMIN = {"authorization": f"Bearer {os.environ['TEST_API_ADMIN']}"}


def is_right(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


def put(body, **values):
    """What is there is replaced; what was left out stays so."""
    for name, value in values.items():
        if body.get(name) is not None:
            body[name] = value


def waiting():
    """A hold that waits, if there is one."""
    answer = requests.get(f"{URL}/api/v1/approvals?status=open", headers=ADMIN, timeout=20).json()
    return next((hold["id"] for hold in answer.get("approvals", [])), None)


def opened(hold):
    """What an approver who opens a hold is shown; nothing, if somebody was faster."""
    return requests.post(f"{URL}/api/v1/approvals/{hold}/open", headers=ADMIN, timeout=20).json()


def mend(case):
    body = case.body if isinstance(case.body, dict) else {}
    path = case.operation.path
    if path.endswith("/alerts"):
        put(body, alert_type="service_down", data={"service": "jellyfin"})
        if case.headers and "Idempotency-Key" in case.headers:
            body.pop("idempotency_key", None)
    elif path.endswith(("/chats", "/messages")):
        put(body, model="quick")
    elif path.endswith(("/users", "/me/password")):
        put(body, password="a sentence that nobody guesses", new="a sentence that nobody guesses")
    elif "/approvals/{id}" in path and (hold := waiting()):
        case.path_parameters["id"] = hold
        if path.endswith(("/approve", "/edit")) and "approval" in (shown := opened(hold)):
            put(body, plan_hash=shown["approval"]["plan_hash"], token=shown["token"])


@schemathesis.hook
def before_call(context, case, kwargs):
    if is_right(case):
        mend(case)
    if case.method.upper() in {"DELETE", "PATCH"}:
        for name, value in (case.path_parameters or {}).items():
            if str(value) in OWN:
                case.path_parameters[name] = "somebody-else"
