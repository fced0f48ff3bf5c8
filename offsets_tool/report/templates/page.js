"use strict";
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const byId = (id) => document.getElementById(id);

  // The theme: as the system, light, dark.
  const choices = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  let chosen = 0;
  const isDark = () => (choices[chosen][0] || (dark.matches ? "dark" : "light")) === "dark";
  const theme = byId("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    chosen = (chosen + 1) % choices.length;
    const [value, words] = choices[chosen];
    if (value) root.dataset.theme = value; else delete root.dataset.theme;
    byId("theme-name").textContent = words;
    draw();
  });

  // Pictures that can be zoomed take the place of the images, where a browser can draw them.
  const figures = [...document.querySelectorAll("figure")];
  const themes = byId("picture-themes") && JSON.parse(byId("picture-themes").textContent);
  const near = themes && "IntersectionObserver" in window
    ? new IntersectionObserver((entries) => entries.forEach((each) => each.isIntersecting && drawn(each.target)), { rootMargin: "400px" })
    : null;
  // Vega's interpreter takes the milliseconds of datetime(...) for a year; toDate(...) means the same to it as to compiled code.
  const datesByNumber = (vega) => JSON.parse(JSON.stringify(vega), (key, value) => (
    key === "signal" && typeof value === "string" ? value.replace(/\bdatetime\((-?\d+)\)/g, "toDate($1)") : value
  ));
  function drawn(figure) {
    const wanted = isDark() ? "dark" : "light";
    if (figure.dataset.drawn === wanted) return;
    figure.dataset.drawn = wanted;
    const spec = JSON.parse(figure.querySelector(".picture-spec").textContent);
    spec.config = { ...themes[wanted], background: "transparent" };
    const live = figure.querySelector(".live");
    window.vegaEmbed(live, spec, {
      ast: true, actions: false, patch: datesByNumber, defaultStyle: false, renderer: "canvas", tooltip: { disableDefaultStyle: true },
    }).then((result) => {
      live.view = result.view;
      live.hidden = false;
      figure.classList.add("is-live");
    }, (error) => { console.error(String(error)); });
  }
  function draw() {
    if (near) figures.forEach((each) => { near.unobserve(each); near.observe(each); });
  }
  dark.addEventListener("change", draw);
  draw();

  // The timeline: what is searched for, and what is chosen.
  const events = byId("events") ? [...byId("events").children] : [];
  const texts = events.map((each) => each.textContent.toLowerCase().replace(/\s+/g, " "));
  const filters = { kind: byId("by-kind"), severity: byId("by-severity"), group: byId("by-group") };
  function filter() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    let matching = 0;
    events.forEach((each, number) => {
      const has = words.every((word) => texts[number].includes(word))
        && Object.entries(filters).every(([name, select]) => !select || !select.value || each.dataset[name] === select.value);
      each.hidden = !has;
      matching += has;
    });
    byId("events").classList.toggle("is-filtered", matching < events.length);
    byId("matching").textContent = `${matching} of ${events.length}`;
  }
  if (byId("filters")) {
    byId("filters").hidden = false;
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("filters").addEventListener("input", filter);
    filter();
  }

  // A link to what is closed opens it; a link to what is filtered away shows it again.
  function follow() {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.tagName === "DETAILS") target.open = true;
    if (target.hidden) target.hidden = false;
    target.scrollIntoView({ block: "start" });
  }
  window.addEventListener("hashchange", follow);
  follow();

  // On paper everything is open.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((each) => { each.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((each) => { each.open = false; }));
})();
