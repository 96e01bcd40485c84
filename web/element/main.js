// SPDX-License-Identifier: MIT
// What web/edit-lock.js is made of: `make web`.
import { EditLock } from "./edit_lock.js";
import { LockBadge } from "./lock_badge.js";

if (!customElements.get("edit-lock")) {
  customElements.define("edit-lock", EditLock);
  customElements.define("lock-badge", LockBadge);
}
