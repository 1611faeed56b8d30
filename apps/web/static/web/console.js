/* What makes the pages quicker for those who have scripts. Each of them works without.

   [data-search]: the field that "/" goes to.  [data-copy]: a box whose text a button copies.  [data-all]: a box that
   ticks all of its form.  [data-live]: a box that is fetched again every so many seconds, as long as it has the attribute.
   [data-centre]: a box that is scrolled to its middle.  [data-slide]: a slider over days, beside the field that it fills. */
"use strict";
(function () {
  const isTyping = function (target) {
    return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  };

  document.addEventListener("keydown", function (event) {
    const field = document.querySelector("[data-search]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  const centre = function () {
    const here = document.querySelector(".places [aria-current]");
    if (here) {  // on a phone the menu is a line that scrolls
      const menu = here.closest(".places");
      menu.scrollLeft = here.offsetLeft - (menu.clientWidth - here.clientWidth) / 2;
    }
    document.querySelectorAll("[data-centre]").forEach(function (box) {
      box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
    });
  };
  let width = window.innerWidth;
  centre();
  window.addEventListener("resize", function () {
    if (window.innerWidth === width) return;  // a phone's address bar comes and goes
    width = window.innerWidth;
    centre();
  });

  document.querySelectorAll("[data-copy]").forEach(function (box) {
    if (!navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async function () {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = "Copy"; }, 2000);
    });
    box.append(button);
  });

  // A form is sent once: a second press of the button would do the same again.
  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(function () { delete form.dataset.sent; }, 10000);  // what was sent may be a download
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach(function (form) { delete form.dataset.sent; });
  });

  document.querySelectorAll("[data-all]").forEach(function (all) {
    const mine = all.form.querySelectorAll("input[type=checkbox]:not([data-all])");
    all.closest("[hidden]").hidden = mine.length < 2;
    all.addEventListener("change", function () {
      mine.forEach(function (one) { one.checked = all.checked; });
    });
  });

  const follow = function (id, times) {
    const box = document.getElementById(id);
    if (!box || times === 0) return;
    setTimeout(async function () {
      const answer = document.hidden ? null : await fetch(location.href).catch(function () { return null; });
      if (answer && (!answer.ok || answer.redirected)) return;  // signed out, say
      if (answer) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
        if (!fresh || !fresh.dataset.live) { location.reload(); return; }
        if (fresh.innerHTML !== box.innerHTML) box.replaceChildren(...fresh.childNodes);
      }
      follow(id, times - 1);
    }, Number(box.dataset.live) * 1000);
  };
  document.querySelectorAll("[data-live]").forEach(function (box) { follow(box.id, 300); });

  document.querySelectorAll("[data-slide]").forEach(function (slider) {
    const field = slider.form.querySelector("input[type=date]");
    const days = function (text) { return Math.round(Date.parse(text + "T00:00:00Z") / 86400000); };
    const written = function (number) { return new Date(number * 86400000).toISOString().slice(0, 10); };
    slider.min = days(slider.dataset.from);
    slider.max = days(slider.dataset.to);
    slider.value = days(field.value || slider.dataset.to);
    slider.setAttribute("aria-valuetext", written(Number(slider.value)));
    slider.hidden = false;
    slider.addEventListener("input", function () {
      field.value = written(Number(slider.value));
      slider.setAttribute("aria-valuetext", field.value);
    });
    slider.addEventListener("change", function () { slider.form.requestSubmit(); });
  });
})();
