// A browser may name a language that is none, as WebKit does where LANG is C; uPlot asks for it. Imported before all others.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}
