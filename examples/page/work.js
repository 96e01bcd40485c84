// Goes with a page on which someone edits a record: says that the work goes on while the page is open, tells the person when the lock is
// lost or someone asks for it, and gives it back when the page goes. The form says where to:
//   <form data-beat=URL data-close=URL data-idle=SECONDS [data-session=ID.KEY]> with an <output> for notes and a submit <button>
// With data-session the addresses are holdfast's own (its --allow-origin must name this page's origin) and the key is the proof.
// Without it they are the application's, and its cookie is the proof, with the CSRF token that Django puts into a form.
"use strict";

function keepWork(form) {
  const { beat, close, idle, session } = form.dataset;
  const note = form.querySelector("output");
  const button = form.querySelector("button");
  let saving = false;

  const csrf = () => new URLSearchParams({ csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value });
  const ask = () => fetch(beat, session
    ? { method: "POST", keepalive: true, headers: { "Holdfast-Session": session } }
    : { method: "POST", keepalive: true, body: csrf() });

  function lost(why) {
    button.disabled = true;
    note.textContent = `${why} What you typed is still here: copy what you need, then reload the page.`;
  }

  // How the lock went, as a beat tells it: taken away, with a reason; or expired by itself, and perhaps taken by someone since.
  function told({ why, by, reason } = {}) {
    if (why === "forced")
      return `The record was taken from you by ${by}${reason ? ` (${reason})` : ""}.`;
    if (why === "expired")
      return by ? `Your lock expired, and ${by} has taken the record since.` : "Your lock expired.";
    return "You no longer hold the record.";
  }

  function heard({ locks, lost: ended, requests }) {
    if (locks === 0)
      lost(told(ended[0]));
    else
      note.textContent = requests.map(({ name, message }) => `${name} asks for this record. ${message}`).join(" ");
  }

  // No answer, or one of a server that is in trouble (5xx), slow (408), busy (423) or asked too often (429): the next beat will tell. Any
  // other refusal is final: a beat never gets back what was lost.
  const undecided = (answer) => answer === null || answer.status >= 500 || [408, 423, 429].includes(answer.status);

  async function tick() {
    const answer = await ask().catch(() => null);
    if (undecided(answer))
      return;
    if (answer.ok)
      heard(await answer.json());
    else
      lost("You no longer hold the record.");
  }

  setInterval(tick, idle * 1000 / 3);
  // Hidden pages run slowly or not at all: one more beat before that, and one at once when the person is back.
  document.addEventListener("visibilitychange", tick);
  // A page that comes back, as it was or as a copy from the browser's cache, has closed its session when it went.
  window.addEventListener("pageshow", () => {
    saving = false;
    tick();
  });
  // A save leaves the page too; then the application ends the work, or goes on with it.
  form.addEventListener("submit", () => (saving = true));
  window.addEventListener("pagehide", () => {
    if (!saving)
      navigator.sendBeacon(close, session ? JSON.stringify({ key: session.split(".")[1] }) : csrf());
  });
}

document.querySelectorAll("form[data-beat]").forEach(keepWork);
