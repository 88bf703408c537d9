// Adds the sentences of the chat model about each thread as soon as they are ready.
"use strict";
(() => {
  const add = async (place) => {
    place.textContent = "The chat model reads this thread.";
    try {
      const answer = await fetch(place.dataset.written, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...parsed.body.children);
    } catch {
      place.textContent = "The chat model does not answer right now.";
    }
  };
  const link = document.getElementById("unscripted");
  if (link) link.hidden = true;
  document.querySelectorAll("[data-written]").forEach(add);
})();
