// Lets the theme's pages run without evaluating strings as JavaScript.  The policy of /admin/ forbids that, so Alpine is
// its build for such policies, which reads expressions itself: no globals, no statements, no functions inside them.  The
// few expressions of the theme that need those are given names here, before Alpine looks at the page.
"use strict";

(() => {
  const KEPT = "sidebarDesktopOpen";

  const body = () => ({
    activeTab: "",
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem(KEPT) !== "0",
    init() {
      this.activeTab = getCurrentTab() || this.$el.dataset.firstTab;
      this.$watch(KEPT, (isOpen) => localStorage.setItem(KEPT, isOpen ? "1" : "0"));
    },
    formAddress() {
      const hash = this.activeTab && this.activeTab !== "general" ? `#${this.activeTab}` : "";
      return location.pathname + location.search + hash;
    },
  });

  const change = (selector, name, into) => {
    for (const element of document.querySelectorAll(selector)) {
      element.setAttribute(name, into(element.getAttribute(name)));
    }
  };

  document.addEventListener("alpine:init", () => {
    for (const part of [theme, searchForm, searchDropdown, searchCommand]) {
      Alpine.data(part.name, part);
    }
    Alpine.data("body", body);
    change("body[x-data]", "x-data", (said) => {
      document.body.dataset.firstTab = /activeTab: '([^']*)'/.exec(said)?.[1] ?? "";
      return "body";
    });
    document.body.removeAttribute("x-init");
    change("[x-bind\\:action]", "x-bind:action", () => "formAddress()");
    change("[x-on\\:keydown\\.enter\\.prevent^='if']", "x-on:keydown.enter.prevent", (said) =>
      said.replace(/^if \((.*)\) (.*)$/, "$1 && $2"),
    );
  });
})();
