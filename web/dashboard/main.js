// The dashboard.
import { html, render } from "lit";

render(html`<main class="api"><h1>holdfast</h1><p><a href="/api">What can be asked of this server</a></p></main>`, document.getElementById("app"));
