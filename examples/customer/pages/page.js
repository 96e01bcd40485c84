// What the pages of this application add to <edit-lock>. Without a script they work too, by plain forms.
for (const lock of document.querySelectorAll("edit-lock")) {
  // A page that only shows says so in other words.
  if (lock.dataset.purpose === "reading")
    lock.texts = {
      held: "You have this open",
      refused: "{name} has this open",
      heldMore: "Nobody else can read it meanwhile.",
      enter: "Open it now",
      freedMore: "{name} has finished.",
      again: "Open again",
    };
  lock.addEventListener("held", () => {
    // It was refused when the page was made: what may be seen now is asked for anew.
    if (lock.dataset.reload === "yes") location.reload();
    lock.querySelectorAll(".when-held").forEach((it) => (it.disabled = false));
  });
}
