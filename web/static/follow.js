// The pages that a reader follows, and their news since the last visit. Both are stored only in this browser.
"use strict";
(() => {
  const FOLLOWED = "followed";
  const MOST = 100;
  const ASKED = 30;
  const SHOWN = 5;
  const KINDS = { sources: "List", drafts: "Draft", people: "Person", threads: "Thread" };

  const read = (store, key, otherwise) => {
    try {
      return JSON.parse(store.getItem(key)) ?? otherwise;
    } catch {
      return otherwise; // nothing is stored, or another program wrote it
    }
  };
  const write = (store, key, value) => {
    try {
      store.setItem(key, JSON.stringify(value));
      return true;
    } catch {
      return false; // the store is full or disabled
    }
  };
  const followed = () => {
    const kept = read(localStorage, FOLLOWED, []);
    return Array.isArray(kept) ? kept.filter((each) => each && each.kind in KINDS && each.name).slice(0, MOST) : [];
  };

  const chip = (words) => {
    const made = document.createElement("span");
    made.className = "chip question fresh";
    made.textContent = words;
    return made;
  };

  // A button on the page of something that can be followed.
  const offer = () => {
    const [, kind, name, more] = location.pathname.split("/");
    const actions = document.querySelector("main ul.actions");
    if (!(kind in KINDS) || !name || more || !actions) return;
    const own = decodeURIComponent(name);
    const is = (each) => each.kind === kind && each.name === own;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "follow";
    const show = () => {
      const follows = followed().some(is);
      button.textContent = follows ? "Following" : "Follow";
      button.setAttribute("aria-pressed", String(follows));
    };
    button.addEventListener("click", () => {
      const others = followed().filter((each) => !is(each));
      const label = document.querySelector("h1").textContent.trim().slice(0, 200);
      const added = { kind, name: own, label, seen: new Date().toISOString() };
      write(localStorage, FOLLOWED, followed().some(is) ? others : [...others, added]);
      show();
    });
    show();
    const item = document.createElement("li");
    item.append(button);
    actions.prepend(item);
  };

  // Entries that are new or have changed since the last visit.
  const compare = () => {
    const entries = [...document.querySelectorAll("main li.entry")].slice(0, 200);
    const page = `seen:${location.pathname}${location.search}`;
    const now = Object.fromEntries(
      entries.map((entry) => [entry.querySelector("a")?.getAttribute("href") ?? "", entry.textContent.replace(/\s+/g, " ").trim()])
    );
    // A reload is not a new visit, so new entries stay new until the tab is closed.
    const before = read(sessionStorage, page, null) ?? read(localStorage, page, null);
    if (before) {
      write(sessionStorage, page, before);
      let count = 0;
      for (const entry of entries) {
        const address = entry.querySelector("a")?.getAttribute("href") ?? "";
        if (before[address] === now[address]) continue;
        entry.querySelector("h2, h3, p")?.append(" ", chip(address in before ? "changed" : "new"));
        count += 1;
      }
      if (count) announce(count);
    }
    if (entries.length) write(localStorage, page, now);
  };

  const announce = (count) => {
    const note = document.createElement("p");
    note.className = "meta since";
    note.setAttribute("role", "status");
    note.textContent = `${count} new or changed since your last visit`;
    document.querySelector("main h1").insertAdjacentElement("afterend", note);
  };

  // The Following page.
  const ask = async (each) => {
    const field = { sources: "source", drafts: "draft", people: "person", threads: "thread" }[each.kind];
    const answer = await fetch(`/api/reports?type=thread&limit=${ASKED}&${field}=${encodeURIComponent(each.name)}`, { cache: "no-cache" });
    return answer.ok ? (await answer.json()).items : null;
  };
  const link = (href, words) => {
    const made = document.createElement("a");
    made.href = href;
    made.textContent = words;
    return made;
  };
  const WORDS = { accepted: "Accepted", revised: "Revised", rejected: "Rejected or withdrawn", contested: "Contested", unresolved: "No decision found", answered: "Answered", unanswered: "No answer found", informational: "For information" };
  const LOOKS = { accepted: "agreement", revised: "agreement", rejected: "dissent", contested: "mixed" };
  const day = (moment) => (moment ? new Date(moment).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" }) : "");
  const headline = (outcome) => {
    const line = document.createElement("p");
    line.className = "headline";
    const kind = document.createElement("span");
    const isSaid = outcome?.tier === "said";
    kind.className = `chip ${(isSaid && LOOKS[outcome.kind]) || ""}`.trim();
    kind.textContent = isSaid ? WORDS[outcome.kind] : WORDS.unresolved;
    const quote = isSaid && outcome.quote ? `: \u201c${outcome.quote}\u201d` : "";
    const sentence = isSaid ? outcome.sentence.replace(/\.$/, quote ? "" : ".") : "";
    const rest = sentence.startsWith(kind.textContent) ? sentence.slice(kind.textContent.length).replace(/^[ ,:.]+/, "") : sentence;
    if (!isSaid && outcome?.last) {
      const at = outcome.last.at ? `, ${day(outcome.last.at)}` : "";
      line.append(`Last remark: ${outcome.last.name}${at}: \u201c${outcome.last.quote}\u201d`);
      return line;
    }
    line.append(kind, rest || quote ? ` · ${rest.replace(/^\(([^()]*)\)/, "$1")}${quote.replace(/^: /, rest ? ": " : "")}` : "");
    return line;
  };
  const isNews = (report, seen) => Boolean(report.outcome?.kind) && report.published_at > seen;
  const newestFirst = (one, other) => (other.last_message_date ?? "").localeCompare(one.last_message_date ?? "");
  const sorted = (reports, seen) =>
    [...reports].sort((one, other) => isNews(other, seen) - isNews(one, seen) || newestFirst(one, other)).slice(0, SHOWN);
  const entry = (report, seen) => {
    const item = document.createElement("li");
    item.className = "entry";
    const title = document.createElement("h3");
    title.append(link(`/threads/${report.thread_id}`, report.title || "No subject"));
    const said = document.createElement("p");
    said.className = "meta";
    said.textContent = day(report.last_message_date);
    item.append(title, headline(report.outcome), said);
    if (report.published_at > seen) title.append(" ", chip("new"));
    return item;
  };
  const section = (each, reports) => {
    const made = document.createElement("section");
    const heading = document.createElement("h2");
    heading.append(link(`/${each.kind}/${encodeURIComponent(each.name)}`, each.label || each.name), ` `);
    const kind = document.createElement("span");
    kind.className = "meta";
    kind.textContent = KINDS[each.kind];
    heading.append(kind);
    const drop = document.createElement("button");
    drop.type = "button";
    drop.textContent = "Unfollow";
    drop.setAttribute("aria-label", `Unfollow ${each.label || each.name}`);
    drop.addEventListener("click", () => {
      write(localStorage, FOLLOWED, followed().filter((one) => one.kind !== each.kind || one.name !== each.name));
      made.remove();
    });
    const list = document.createElement("ul");
    list.className = "entries";
    list.append(...sorted(reports ?? [], each.seen).map((report) => entry(report, each.seen)));
    if (!reports?.length) list.append(Object.assign(document.createElement("li"), { textContent: reports ? "No reports yet." : "Not available right now." }));
    made.append(heading, list, drop);
    return made;
  };
  const showFollowed = async (box) => {
    const all = followed();
    document.getElementById("nothing-followed").hidden = all.length > 0;
    const answers = await Promise.all(all.map((each) => ask(each).catch(() => null)));
    const before = read(sessionStorage, "followed-seen", {});
    const shown = all.map((each) => ({ ...each, seen: before[`${each.kind} ${each.name}`] ?? each.seen ?? "" }));
    box.replaceChildren(...shown.map((each, place) => section(each, answers[place])));
    write(sessionStorage, "followed-seen", Object.fromEntries(shown.map((each) => [`${each.kind} ${each.name}`, each.seen])));
    const latest = (each, reports) => (reports ?? []).reduce((at, report) => (report.published_at > at ? report.published_at : at), each.seen ?? "");
    write(localStorage, FOLLOWED, all.map((each, place) => ({ ...each, seen: latest(each, answers[place]) })));
    box.setAttribute("aria-busy", "false");
  };

  const box = document.getElementById("followed");
  if (box) showFollowed(box);
  else {
    offer();
    compare();
  }
})();
