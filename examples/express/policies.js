// The records, in memory. Each keeps the newest fence with which it was opened; in SQL the two functions are
//   UPDATE policy SET fence = $2 WHERE id = $1 AND fence <= $2           and read it only then
//   UPDATE policy SET text = $3 WHERE id = $1 AND fence = $2             no row: someone else has opened it since
"use strict";

const policies = new Map(["Carla Diaz", "Dan Okafor"].map((holder, i) => [`${i + 1}`, { id: `${i + 1}`, holder, text: "Covers fire.", fence: 0 }]));

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

  // False: nothing was saved.
  save(id, fence, text) {
    const policy = policies.get(id);
    if (policy.fence !== fence)
      return false;
    policy.text = text;
    return true;
  },
};
