// The records, in memory. Each keeps the newest fence with which it was opened; in SQL claim and save are
//   UPDATE policy SET fence = $2 WHERE id = $1 AND fence <= $2           and read it only then
//   UPDATE policy SET text = $3 WHERE id = $1 AND fence = $2             no row: someone else has opened it since
// Where the page has <edit-lock>, the version that holdfast counts stands beside the record, and
//   UPDATE policy SET text = $4, version = $3, fence = $5 WHERE id = $1 AND version = $2
"use strict";

const policies = new Map(["Carla Diaz", "Dan Okafor"].map((holder, i) => [`${i + 1}`, { id: `${i + 1}`, holder, text: "Covers fire.", fence: 0, version: 0 }]));

module.exports = {
  all: () => [...policies.values()],
  find: (id) => policies.get(id),

  // Opens it for editing: from now on no older fence saves. The record, or null.
  claim(id, fence) {
    const policy = policies.get(id);
    if (policy.fence > fence)
      return null;
    policy.fence = fence;
    return { ...policy };
  },

  // After a save that holdfast has counted: saved is its answer, version the one that was read. False: nothing was written.
  write(id, version, saved, text) {
    const policy = policies.get(id);
    if (policy.version !== version)
      return false;
    Object.assign(policy, { text, version: saved.version, fence: saved.fence });
    return true;
  },

  // False: nothing was saved.
  save(id, fence, text) {
    const policy = policies.get(id);
    if (policy.fence !== fence)
      return false;
    policy.text = text;
    return true;
  },
};
