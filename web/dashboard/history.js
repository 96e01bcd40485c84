// The samples of the server, read every few seconds while a page wants them.
import { get } from "./api.js";
import { changed, failed, state } from "./store.js";

const spans = { hour: { every: 5000 }, day: { every: 60000 } };

export const history = (span = "hour") => spans[span].samples;

// Of a page that is being drawn.
export async function wantHistory(span) {
  const it = spans[span];
  if (it.asking || state.live === "gone" || Date.now() - (it.at ?? 0) < it.every) return;
  it.asking = true;
  it.at = Date.now();
  try {
    it.samples = await get("/v1/history", { span });
    changed();
  } catch (error) {
    failed(error);
  }
  it.asking = false;
}
