// Sends the form's file and shows how far it is. Without this script the browser sends the form by itself.
"use strict";
(() => {
  const form = document.getElementById("upload");
  const bar = document.getElementById("bar");
  const sent = document.getElementById("sent");
  const button = form.querySelector("button");
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  const fail = (words) => {
    sent.textContent = words;
    bar.hidden = true;
    button.disabled = false;
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const file = document.getElementById("file").files[0];
    if (file.size > form.dataset.largest * 1e6) return fail(`This file has ${megabytes(file.size)} MB, more than can be sent this way.`);
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (at) => {
      bar.value = at.total ? (100 * at.loaded) / at.total : 0;
      sent.textContent = `${megabytes(at.loaded)} of ${megabytes(at.total)} MB sent`;
    });
    request.addEventListener("load", () => {
      if (request.status < 400) return location.assign(request.responseURL); // where its progress is shown
      const said = new DOMParser().parseFromString(request.responseText, "text/html").querySelector(".lead");
      fail(said ? said.textContent : `The answer was ${request.status}.`);
    });
    request.addEventListener("error", () => fail("The connection broke. Send it again: what is here already is not taken in twice."));
    button.disabled = true;
    bar.hidden = false;
    request.open("POST", form.action);
    request.send(new FormData(form));
  });
})();
