// Updates the operator page by requesting it again.
"use strict";
(() => {
  const EVERY = 5000;
  let wait = EVERY;

  const renew = async () => {
    const answer = await fetch("/operator", { cache: "no-store" });
    if (answer.status === 401 || answer.status === 403) return location.reload(); // the session is over
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    const shown = document.getElementById("live");
    if (!fresh || !shown) return location.reload();
    const focused = document.activeElement && shown.contains(document.activeElement) ? document.activeElement.id : "";
    shown.replaceWith(document.adoptNode(fresh));
    if (focused) document.getElementById(focused)?.focus();
  };

  const turn = async () => {
    if (!document.hidden) {
      try {
        await renew();
        wait = EVERY;
      } catch {
        wait = Math.min(wait * 2, 60000); // the service may be away for a while
      }
    }
    setTimeout(turn, wait);
  };
  setTimeout(turn, wait);
})();
