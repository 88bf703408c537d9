// Updates the progress of an archive until it is complete. Without this script the page reloads.
"use strict";
(() => {
  const box = document.getElementById("progress");
  const units = (count, unit) => `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;

  const figures = (stage) =>
    `${stage.done.toLocaleString("en")} of ${units(stage.total, stage.unit)}` +
    (stage.failed ? `, ${stage.failed.toLocaleString("en")} failed` : "");

  const show = (progress) => {
    document.getElementById("whole").value = progress.percent;
    document.getElementById("state").textContent = `In progress: ${progress.percent}%`;
    for (const stage of progress.stages) {
      const row = box.querySelector(`[data-stage="${stage.name}"]`);
      const bar = row.querySelector("progress");
      bar.max = stage.total || 1;
      bar.value = stage.done;
      row.querySelector(".figures").textContent = figures(stage);
    }
  };

  let wait = 1000;
  const ask = async () => {
    try {
      const answer = await fetch(box.dataset.from, { cache: "no-cache" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const progress = (await answer.json()).progress;
      if (progress.complete || progress.failed) return location.reload();
      show(progress);
      wait = 1000;
    } catch {
      wait = Math.min(wait * 2, 30000); // the service may be away for a while
    }
    setTimeout(ask, wait);
  };
  setTimeout(ask, wait);
})();
