// The little that a page does by itself: local times, a word when live updates stop, keyboard, menus. Everything else is the server's.
"use strict";
(() => {
  const STALE_MS = 25000;
  // Not hour12: false, by which midnight is 24:00 in English.
  const SHORT = { month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const SECONDS = { ...SHORT, second: "2-digit" };
  const FULL = { year: "numeric", ...SHORT, second: "2-digit" };

  function localTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-done])")) {
      const at = new Date(time.dateTime);
      const style = { full: FULL, sec: SECONDS }[time.dataset.style] || SHORT;
      time.title = at.toISOString();
      time.textContent = at.toLocaleString(document.documentElement.lang, style);
      time.dataset.done = "";
    }
    const zone = document.getElementById("zone");
    if (zone?.hidden && document.querySelector("time[data-done]")) {
      const here = Intl.DateTimeFormat().resolvedOptions().timeZone, east = -new Date().getTimezoneOffset();
      const offset = "UTC" + (east < 0 ? "\u2212" : "+") + Math.floor(Math.abs(east) / 60) + (east % 60 ? ":" + String(Math.abs(east) % 60).padStart(2, "0") : "");
      zone.textContent = zone.dataset.words + (here === "UTC" ? here : `${here} (${offset})`);
      zone.hidden = false;
    }
  }

  // On a phone a row stands as lines without its header: each figure gets the header's word.
  function labels(root) {
    for (const table of root.querySelectorAll("table.stacked:not([data-labelled])")) {
      const words = [...table.querySelectorAll("thead th")].map((th) => (th.querySelector(".sr") ? "" : th.textContent.trim()));
      for (const row of table.tBodies[0]?.rows || []) {
        [...row.cells].forEach((cell, at) => {
          if (!cell.textContent.trim() && !cell.querySelector("svg, input")) cell.dataset.bare = "";
          else if (cell.tagName === "TD" && words[at] && !cell.dataset.label && !cell.querySelector("form, details, .signal")) cell.dataset.label = words[at];
        });
      }
      table.dataset.labelled = "";
    }
  }

  // Live updates: the server speaks at least every ten seconds. Silence is told, with its length.
  function watchLive() {
    if (!document.querySelector("[sse-connect]")) return;
    const banner = document.getElementById("live-lost");
    let heardAt = Date.now();
    const heard = () => { heardAt = Date.now(); banner.hidden = true; };
    document.body.addEventListener("htmx:sseOpen", heard);
    document.body.addEventListener("htmx:sseBeforeMessage", heard);
    document.body.addEventListener("htmx:sseMessage", heard);
    for (const name of ["fleet", "beat", "hello"]) {
      document.body.addEventListener("htmx:sseOpen", (event) => event.detail.source.addEventListener(name, heard));
    }
    setInterval(() => {
      const silent = Date.now() - heardAt;
      if (silent < STALE_MS) return;
      banner.textContent = banner.dataset.words.replace("{s}", Math.round(silent / 1000));
      banner.hidden = false;
    }, 1000);
  }

  const GO = { f: "/", r: "/requests", i: "/incidents", t: "/try" };
  let going = false;
  function keyboard(event) {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      for (const menu of document.querySelectorAll("details.me[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
      return;
    }
    if (typing || event.metaKey || event.ctrlKey || event.altKey) return;
    if (going && GO[event.key]) {
      const home = document.querySelector(".brand");
      if (home) location.href = home.pathname.replace(/\/$/, "") + GO[event.key];
    }
    going = event.key === "g";
    if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
    if (event.key === "?") document.getElementById("keys-help").showModal();
  }

  function ready() {
    localTimes(document);
    labels(document);
    // On a phone the menu is a strip: show where in it the reader stands.
    const strip = document.querySelector(".top nav"), here = strip?.querySelector("[aria-current]");
    if (here && strip.scrollWidth > strip.clientWidth) strip.scrollLeft = here.offsetLeft - strip.clientWidth / 2;
    watchLive();
    document.addEventListener("keydown", keyboard);
    document.body.addEventListener("htmx:afterSettle", (event) => { localTimes(event.target); labels(event.target); });
    // What a form is refused for stands where its answer would stand; by itself htmx shows nothing of an error.
    document.body.addEventListener("htmx:beforeSwap", (event) => {
      const told = event.detail;
      if (told.xhr.status >= 400 && told.requestConfig.verb === "post") { told.shouldSwap = true; told.isError = false; }
    });
    document.body.addEventListener("htmx:sendError", (event) => {
      const banner = document.getElementById("live-lost");
      if (event.detail.requestConfig?.verb !== "post") return;
      banner.textContent = banner.dataset.unsent;
      banner.hidden = false;
    });
    document.addEventListener("click", (event) => {
      for (const menu of document.querySelectorAll("details.me[open]")) if (!menu.contains(event.target)) menu.open = false;
      const opener = event.target.closest("[data-dialog]");
      if (opener) document.getElementById(opener.dataset.dialog).showModal();
      const copier = event.target.closest("[data-copy]");
      if (copier) navigator.clipboard?.writeText(copier.dataset.copy).then(() => { copier.textContent = copier.dataset.copied; });
      if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
})();
