// Long threads: loads the next messages, finds unread messages and adds keys. All functions are optional:
// without this script, links lead to the same messages.
"use strict";
(() => {
  const mails = document.getElementById("mails");
  if (!mails) return;
  const MOST_THREADS = 100;
  const LONG = 6;
  const own = `read:${location.pathname.split("/")[2] ?? ""}`;
  const articles = () => [...mails.querySelectorAll("article.message")];
  const keyOf = (article) => article.id.slice(2);

  const keep = (name, value) => {
    try {
      localStorage.setItem(name, value);
    } catch {
      // Storage is disabled, so every visit is the first.
    }
  };
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };

  // Parts that are loaded on request.
  const fetched = async (address) => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  let coming = null;
  const following = () => {
    const link = mails.querySelector(".following a");
    if (!link) return Promise.resolve(false);
    coming ??= fetched(`${link.getAttribute("href")}&part=messages`)
      .then((page) => {
        link.parentElement.replaceWith(...page.body.childNodes);
        watch();
        return true;
      })
      .catch(() => false) // the link remains
      .finally(() => {
        coming = null;
      });
    return coming;
  };
  for (const box of document.querySelectorAll("details[data-part]"))
    box.addEventListener("toggle", () => {
      const place = box.querySelector("p");
      if (!box.open || !place || box.dataset.asked) return;
      box.dataset.asked = "yes";
      fetched(box.dataset.part)
        .then((page) => place.replaceWith(...page.getElementById("part").childNodes))
        .catch(() => delete box.dataset.asked);
    });

  // The messages that were read in this browser.
  const before = new Set(read().keys);
  const now = new Set(before);
  function read() {
    try {
      const found = JSON.parse(kept(own));
      return Array.isArray(found?.keys) ? found : { keys: [] };
    } catch {
      return { keys: [] };
    }
  }
  const store = () => {
    keep(own, JSON.stringify({ at: Date.now(), keys: [...now].slice(-2000) }));
  };
  const prune = () => {
    const names = Object.keys(localStorage).filter((name) => name.startsWith("read:"));
    const age = (name) => {
      try {
        return JSON.parse(kept(name)).at ?? 0;
      } catch {
        return 0;
      }
    };
    names.sort((one, other) => age(one) - age(other));
    for (const name of names.slice(0, Math.max(0, names.length - MOST_THREADS))) localStorage.removeItem(name);
  };
  const seen = new IntersectionObserver(
    (entries) => {
      const read = entries.filter((entry) => entry.isIntersecting && !now.has(keyOf(entry.target)));
      for (const entry of read) now.add(keyOf(entry.target));
      if (read.length) store();
    },
    { rootMargin: "0px 0px -25% 0px" }
  );
  const nearEnd = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && following(), {
    rootMargin: "0px 0px 1500px 0px",
  });
  const isUnread = (key) => before.size > 0 && !before.has(key);
  const watch = () => {
    for (const article of articles()) {
      if (article.dataset.watched) continue;
      article.dataset.watched = "yes";
      article.tabIndex = -1;
      seen.observe(article);
      if (!isUnread(keyOf(article))) continue;
      const chip = document.createElement("span");
      chip.className = "chip question fresh";
      chip.textContent = "unread";
      article.querySelector("header").append(chip);
    }
    const link = mails.querySelector(".following");
    if (link) nearEnd.observe(link);
  };

  // Navigation.
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const show = (article) => {
    for (let fold = article.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])"))
      fold.open = true;
    article.focus({ preventScroll: true });
    article.scrollIntoView({ behavior: still ? "instant" : "smooth", block: "start" });
  };
  const place = () => {
    const all = articles();
    const at = all.indexOf(document.activeElement?.closest?.("article.message"));
    if (at >= 0) return at;
    const next = all.findIndex((article) => article.getBoundingClientRect().bottom > 40);
    return next < 0 ? all.length - 1 : next - 1;
  };
  const move = async (step, wanted = () => true) => {
    const from = place();
    for (let at = from + step; at >= 0; at += step) {
      if (at >= articles().length && !(await following())) return;
      const found = articles()[at];
      if (found && wanted(keyOf(found))) return show(found);
    }
  };
  const firstUnread = () => {
    const keys = mails.dataset.keys ? mails.dataset.keys.split(" ") : articles().map(keyOf);
    return keys.find(isUnread);
  };
  const toUnread = () => {
    const key = firstUnread();
    if (!key) return;
    const here = document.getElementById(`m-${key}`);
    if (here) show(here);
    else location.assign(`?at=${key}#m-${key}`);
  };

  // Links to messages of other pages that are loaded by now.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href*='?at='], a[href*='&at=']");
    if (!link || link.pathname !== location.pathname || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!document.getElementById(link.hash.slice(1))) return;
    event.preventDefault();
    location.hash = link.hash;
  });

  const KEYS = { j: "Next message", k: "Previous message", n: "Next unread message", p: "Previous unread message", u: "First unread message", o: "Collapse or expand replies", "?": "Show these shortcuts" };
  const areOn = () => kept("keys") !== "off";
  const dialog = document.createElement("dialog");
  const help = () => {
    const title = document.createElement("h2");
    title.id = "keys-title";
    title.textContent = "Keyboard shortcuts";
    dialog.setAttribute("aria-labelledby", title.id);
    const list = document.createElement("dl");
    list.className = "headers";
    for (const [key, words] of Object.entries(KEYS)) {
      const row = document.createElement("div");
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
      text.textContent = words;
      row.append(term, text);
      list.append(row);
    }
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: areOn() });
    box.addEventListener("change", () => keep("keys", box.checked ? "on" : "off"));
    label.append(box, " Use keyboard shortcuts");
    const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close" });
    close.addEventListener("click", () => dialog.close());
    const end = document.createElement("p");
    end.append(close);
    dialog.replaceChildren(title, list, label, end);
    document.body.append(dialog);
    dialog.showModal();
  };
  const fold = () => {
    const article = articles()[place()];
    const below = article?.nextElementSibling?.matches("details.answers") ? article.nextElementSibling : article?.closest("details.answers");
    if (below) below.open = !below.open;
  };
  const acts = {
    j: () => move(1),
    k: () => move(-1),
    n: () => move(1, isUnread),
    p: () => move(-1, isUnread),
    u: toUnread,
    o: fold,
    "?": help,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || !areOn()) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });

  const tools = () => {
    if (articles().length < LONG && !mails.dataset.keys) return;
    const bar = document.createElement("p");
    bar.className = "tools";
    const button = (words, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: words });
      made.addEventListener("click", act);
      bar.append(made);
    };
    if (firstUnread()) button("First unread", toUnread);
    button("Keyboard shortcuts", help);
    mails.before(bar);
  };
  tools();
  watch();
  prune();
})();
