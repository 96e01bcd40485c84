// Web sessions in memory, known by a cookie. What matters for holdfast: `ended` is called for each, once, however it ends: by a logout, by
// a new login, or because nobody used it for a while. Pages beat to holdfast, not to the application, so who types for an hour sends nothing
// here: before a web session runs out, `atWork` is asked, and as long as it says yes, or can't tell, the web session lives on.
"use strict";
const { randomBytes } = require("node:crypto");

const seconds = Number(process.env.WEB_SESSION_SECONDS ?? 3600);
const secondsUntilNextTry = Math.min(seconds, 60);
const all = new Map();

module.exports = function webSessions({ atWork, ended }) {
  function end(session) {
    clearTimeout(session.timer);
    session.timer = null;
    if (all.delete(session.id))
      return ended(session);
  }

  function wait(session, time) {
    clearTimeout(session.timer);
    session.timer = setTimeout(runOut, time * 1000, session).unref();
  }

  async function runOut(session) {
    const { timer } = session;
    const working = await atWork(session).catch(() => null);
    if (session.timer !== timer) // used again, or ended, while holdfast was asked
      return;
    if (working === false)
      await end(session);
    else
      wait(session, working ? seconds : secondsUntilNextTry);
  }

  function begin(response, user) {
    const session = { id: randomBytes(32).toString("hex"), user, work: new Map(), sessions: new Map() };
    wait(session, seconds);
    all.set(session.id, session);
    response.cookie("session", session.id, { httpOnly: true, sameSite: "lax", path: "/" });
    return session;
  }

  function find(request, response, next) {
    const id = /(?:^|; *)session=([0-9a-f]{64})/.exec(request.headers.cookie ?? "")?.[1];
    request.webSession = all.get(id);
    if (request.webSession)
      wait(request.webSession, seconds);
    next();
  }

  return { begin, end, find };
};
