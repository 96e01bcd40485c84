"""holdfast over HTTP: the few calls that an application makes, and what a refusal means for the person who asked."""
import http.client
import json
import logging
import urllib.error
import urllib.parse
import urllib.request

from django.conf import settings

TIMEOUT_S = 5
log = logging.getLogger(__name__)
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(Exception):
    """The sentence is for people. `status` is that of the page that tells it."""

    def __init__(self, sentence, holders=()):
        super().__init__(sentence)
        self.sentence, self.holders = sentence, holders


class Locked(Refused):
    """Someone else is at it; on a beat or at the end of the work: just for a moment, in a change that is not committed yet."""
    status, title = 423, "Someone else is editing this"


class Lost(Refused):
    """The work has ended, or what it held was taken away."""
    status, title = 409, "You no longer hold this record"


class Unavailable(Refused):
    """holdfast did not answer, or with something that is not for people: that is in the log."""
    status, title = 503, "Editing is not possible at the moment"

    def __init__(self, *why):
        super().__init__("The lock service does not answer. Nothing was changed; please try again in a minute.")
        log.error("holdfast at %s: %s", settings.HOLDFAST_URL, why)


def refusal(status, problem):
    if status == 423:
        return Locked(problem["message"], problem["holders"])
    if status in (404, 409, 410, 412):
        return Lost(problem["message"])
    return Unavailable(status, problem["message"])


def send(request):
    """The answer, whatever it says: a refusal is one too."""
    try:
        return direct.open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as refused:
        return refused


def ask(method, path, body=None, login=None, **more):
    """The answer as a dict; else Locked, Lost or Unavailable. With `login` a session asks, else the application by its token."""
    headers = {"Holdfast-Session": login} if login else {"Authorization": f"Bearer {settings.HOLDFAST_TOKEN}"}
    headers |= {"Content-Type": "application/json", **more}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(settings.HOLDFAST_URL + path, data, headers, method=method)
    status = None
    try:
        with send(request) as answer:
            status = answer.status
            said = json.load(answer)
        if status < 300:
            return said
        problem = refusal(status, said)
    # Also what is not holdfast's: a gateway that stands before it answers as it likes.
    except (OSError, ValueError, LookupError, TypeError, http.client.HTTPException) as why:
        problem = Unavailable(status, why)
    raise problem


def open_session(user, replaces=None):
    body = {"user": user.get_username(), "name": user.get_full_name() or user.get_username(),
            "idle_seconds": settings.HOLDFAST_IDLE_SECONDS}
    if replaces:
        body["replaces"] = replaces
    return ask("POST", "/v1/sessions", body)


def lock_path(type, record):
    return f"/v1/locks/{type}/{urllib.parse.quote(record, safe='')}"


def acquire(work, purpose):
    """The fence."""
    return ask("PUT", lock_path(work.type, work.record), {"purpose": purpose}, work.login)["locks"][0]["fence"]


def who(work):
    """Those who hold the record, whatever became of the work."""
    return ask("GET", lock_path(work.type, work.record))["holders"]


def save(work, fence, version):
    """Counts a save, if the work still holds the record and nobody has saved since `version` was read. The new version and its fence."""
    read = {"If-Match": f'"{version}"'} if version else {"If-None-Match": "*"}
    path = f"/v1/versions/{work.type}/{urllib.parse.quote(work.record, safe='')}"
    return ask("PUT", path, {}, work.login, **{"Holdfast-Fence": str(fence)}, **read)


def force_release(type, record, reason, fence, actor):
    """Ends the locks of others, or the one with that fence. The token needs the role manage."""
    return ask("POST", f"{lock_path(type, record)}/force-release", {"reason": reason, "fence": fence, "actor": actor})


def beat(work):
    return ask("POST", f"/v1/sessions/{work.session}/beat", login=work.login)


def close_session(work):
    return ask("DELETE", f"/v1/sessions/{work.session}", login=work.login)
