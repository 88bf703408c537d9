// Uploads the file of the form and shows the progress. Without this script the browser sends the form.
// A large file is sent in parts, and an interrupted upload resumes with the missing parts. If the site gives an
// address, parts are sent directly to Blob Storage, or through the site if that fails.
"use strict";
(() => {
  const form = document.getElementById("upload");
  const bar = document.getElementById("bar");
  const sent = document.getElementById("sent");
  const button = form.querySelector("button");
  const ATTEMPTS = 6;
  const DIRECT_ATTEMPTS = 3;
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  const fail = (words) => {
    sent.textContent = words;
    bar.hidden = true;
    button.disabled = false;
  };
  const show = (loaded, total) => {
    bar.value = total ? (100 * loaded) / total : 0;
    sent.textContent = `${megabytes(loaded)} of ${megabytes(total)} MB sent`;
  };

  const whole = () => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (at) => show(at.loaded, at.total));
    request.addEventListener("load", () => {
      if (request.status < 400) return location.assign(request.responseURL); // the page of its progress
      const said = new DOMParser().parseFromString(request.responseText, "text/html").querySelector(".lead");
      fail(said ? said.textContent : `The upload failed with status ${request.status}.`);
    });
    request.addEventListener("error", () => fail("The connection was lost. Upload the file again. Mail is not added twice."));
    request.open("POST", form.action);
    request.send(new FormData(form));
  };

  // A refusal ends the upload. A lost connection or a busy server is retried.
  const ask = async (method, path, file, body) => {
    const named = new URLSearchParams({ source: form.elements.source.value, filename: file.name, size: file.size, modified: file.lastModified });
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await fetch(`/operator/upload/${path}?${named}`, { method, body, headers: { "x-form-token": form.elements.token.value } });
        if (answer.ok) return await answer.json();
        if (answer.status < 500) throw new TypeError((await answer.json()).detail, { cause: "refused" });
      } catch (error) {
        if (error.cause === "refused" || attempt >= ATTEMPTS) throw error;
      }
      if (attempt >= ATTEMPTS) throw new TypeError("The server is not responding.", { cause: "refused" });
      await wait(500 * 2 ** attempt);
    }
  };

  const taken = async (operation) => {
    for (;;) {
      const answer = await fetch(`/api/operations/${operation}`, { cache: "no-cache" });
      const state = answer.ok ? await answer.json() : {};
      if (state.status === "failed") return fail(state.error || "The archive could not be processed.");
      if (state.archives?.length) return location.assign(`/archives/${state.archives[0].archive_id}`);
      await wait(1000);
    }
  };

  // The status of the response, or 0 without one.
  const straight = (address, number, part, moved) =>
    new Promise((resolve) => {
      const block = encodeURIComponent(btoa(String(number).padStart(8, "0")));
      const request = new XMLHttpRequest();
      request.upload.addEventListener("progress", (at) => moved(at.loaded));
      request.addEventListener("loadend", () => resolve(request.status));
      request.open("PUT", `${address}&comp=block&blockid=${block}`);
      request.send(part);
    });

  // An expired address is requested again. An address that does not work, as from a network that may not
  // reach the storage, is not used again for this file.
  const sendPart = async (file, number, part, way, moved) => {
    for (let attempt = 1; way.address && attempt <= DIRECT_ATTEMPTS; attempt += 1) {
      const status = await straight(way.address, number, part, moved);
      if (status === 201) return;
      if (status === 403) way.address = (await ask("POST", "parts", file)).address;
      else if (attempt < DIRECT_ATTEMPTS) await wait(500 * 2 ** attempt);
    }
    way.address = null;
    await ask("PUT", `parts/${number}`, file, part);
  };

  const parts = async (file) => {
    const { part_bytes: size, count, here, address } = await ask("POST", "parts", file);
    const known = new Set(here);
    const way = { address };
    let loaded = 0;
    for (let number = 0; number < count; number += 1) {
      const part = file.slice(number * size, (number + 1) * size);
      const before = loaded;
      if (!known.has(number)) await sendPart(file, number, part, way, (moved) => show(before + moved, file.size));
      loaded += part.size;
      show(loaded, file.size);
    }
    const { operation_id: operation } = await ask("POST", "end", file);
    sent.textContent = "Upload complete. Processing the archive.";
    await taken(operation);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const file = document.getElementById("file").files[0];
    button.disabled = true;
    bar.hidden = false;
    if (file.size <= form.dataset.largest * 1e6) return whole();
    parts(file).catch((error) =>
      fail(error.cause === "refused" ? error.message : "The connection was lost. Choose the same file again to resume.")
    );
  });
})();
