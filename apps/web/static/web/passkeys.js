/* Asks the browser for a passkey and posts its answer. Without this script everything else still works.

   <form data-passkey="create | get | sign-in"> with a field "credential", a button, and a place for what went wrong;
   the options of the first two are in #passkey-options, those of signing in are fetched from the form's own address. */
"use strict";
(function () {
  const supported = window.PublicKeyCredential && window.webauthnJSON;

  function given() {
    return JSON.parse(document.getElementById("passkey-options").textContent);
  }

  async function answerOf(form) {
    if (form.dataset.passkey === "create") {
      const options = JSON.parse(JSON.stringify(given().creation_options));
      const alone = form.elements.passwordless.checked;
      const choice = options.publicKey.authenticatorSelection;
      choice.residentKey = alone ? "required" : "discouraged";
      choice.requireResidentKey = alone;
      choice.userVerification = "required";
      return window.webauthnJSON.create(options);
    }
    if (form.dataset.passkey === "get") {
      return window.webauthnJSON.get(given().request_options);
    }
    const response = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!response.ok) {
      throw new Error("options");
    }
    return window.webauthnJSON.get((await response.json()).request_options);
  }

  function prepare(form) {
    const button = form.querySelector("button");
    const problem = form.querySelector("[role=alert]");
    form.hidden = !supported && form.dataset.passkey !== "create";
    button.disabled = !supported;
    button.addEventListener("click", async function () {
      problem.hidden = true;
      button.disabled = true;
      try {
        form.elements.credential.value = JSON.stringify(await answerOf(form));
        form.submit();
      } catch (error) {
        problem.textContent = error.name === "SecurityError"
          ? "Passkeys need https, or http://localhost: browsers know none for an address of numbers."
          : "No passkey was used. Try again when you are ready.";
        problem.hidden = false;
        button.disabled = false;
      }
    });
  }

  document.querySelectorAll("form[data-passkey]").forEach(prepare);
})();
