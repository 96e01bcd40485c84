// Web sessions in memory, known by a cookie. What matters for holdfast: `ended` is called for each, once, however it ends: by a logout, by
// a new login, or because nobody used it for a while.
"use strict";
const { randomBytes } = require("node:crypto");

const seconds = Number(process.env.WEB_SESSION_SECONDS ?? 3600);
const all = new Map();

module.exports = function webSessions(ended) {
  function end(session) {
    clearTimeout(session.timer);
    if (all.delete(session.id))
      return ended(session);
  }

  function begin(response, user) {
    const session = { id: randomBytes(32).toString("hex"), user, work: new Map() };
    session.timer = setTimeout(end, seconds * 1000, session).unref();
    all.set(session.id, session);
    response.cookie("session", session.id, { httpOnly: true, sameSite: "lax", path: "/" });
    return session;
  }

  function find(request, response, next) {
    const id = /(?:^|; *)session=([0-9a-f]{64})/.exec(request.headers.cookie ?? "")?.[1];
    request.webSession = all.get(id);
    request.webSession?.timer.refresh();
    next();
  }

  return { begin, end, find };
};
