"""How our pages look, and the script that sorts their tables."""

from __future__ import annotations

from dpdl.pages.theme import DARK, LIGHT, SHADES, variables

_SHADES = "\n".join(
    f".{name} {{ background: var(--{name}); print-color-adjust: exact; }}"
    for name in SHADES
)
STYLE = f"""
:root {{ color-scheme: light; {variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ color-scheme: dark; {variables(DARK)} }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--ground); overflow-wrap: break-word; }}
header, main, footer {{ max-width: 73rem; margin: 0 auto; padding: 0 1.2rem; }}
header {{ padding-top: 2rem; }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }}
h2 {{ font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--pale); }}
h3 {{ font-size: 1.05rem; margin: 1.8rem 0 .4rem; }}
p, ul {{ max-width: 46rem; }}
nav a {{ display: inline-block; margin-right: 1.2rem; padding: .2rem 0; }}
a {{ color: var(--link); }}
figure {{ margin: 1.2rem 0; }}
figure img {{ display: block; max-width: 100%; height: auto; background: white;
  border-radius: .3rem; }}
figure .wide img {{ max-height: 34rem; }}
figure :is(.tall, .plain) img {{ max-height: none; }}
figcaption, footer, .soft {{ color: var(--soft); font-size: .92rem; max-width: 46rem; }}
footer {{ max-width: 73rem; padding-bottom: 2.5rem; margin-top: 3rem; }}
.said {{ background: var(--paper); border-left: .25rem solid var(--link);
  padding: .7rem 1rem; max-width: 46rem; }}
.alarm {{ background: var(--blush); border: 2px solid var(--red); border-left-width: .6rem;
  border-radius: .3rem; padding: .8rem 1rem; margin: 1rem 0; max-width: 46rem;
  print-color-adjust: exact; }}
.alarm p {{ margin: 0; }}
.alarm .head {{ color: var(--red); font-size: 1.1rem; font-weight: 700; margin-bottom: .3rem;
  display: flex; gap: .5rem; align-items: center; }}
.alarm svg {{ width: 1.5rem; height: 1.5rem; flex: none; fill: currentColor; }}
.private {{ border-left: .25rem solid var(--orange); padding-left: 1rem; margin: 1.2rem 0; }}
.private > .mark {{ color: var(--rust); font-size: .85rem; font-weight: 600;
  margin: 0 0 .4rem; }}
.key {{ --line: var(--light); white-space: nowrap; }}
@media screen and (prefers-color-scheme: dark) {{ .key {{ --line: var(--dark); }} }}
.key svg {{ width: 2.4em; height: .8em; margin-right: .4em; vertical-align: -.05em;
  overflow: visible; }}
.key path {{ fill: none; stroke: var(--line); stroke-width: 2; }}
.key path + path {{ fill: var(--line); stroke: none; }}
.name {{ white-space: nowrap; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }}
table {{ overflow-wrap: normal; }}
th, td {{ padding: .3rem .8rem .3rem 0; text-align: right;
  border-bottom: 1px solid var(--pale); white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
th {{ font-weight: 600; }}
.words th, .words td {{ text-align: left; vertical-align: top; padding-right: 1.4rem; }}
.words td.long {{ white-space: normal; min-width: 15em; }}
.live {{ font-size: .88rem; }}
.live th, .live td {{ padding: .2rem .5rem; }}
.live th.word, .live td.word {{ text-align: left; }}
.live td.long {{ white-space: normal; min-width: 15em; }}
.live thead {{ border-bottom: 2px solid var(--pale); }}
.live button {{ font: inherit; color: inherit; background: none; border: 0;
  padding: .25rem 0; cursor: pointer; }}
.live button::after {{ content: "\\2195" / ""; color: var(--soft); padding-left: .3em; }}
.live [aria-sort=ascending] button::after {{ content: "\\2191" / ""; color: var(--link); }}
.live [aria-sort=descending] button::after {{ content: "\\2193" / ""; color: var(--link); }}
.search input {{ font: inherit; width: 16rem; max-width: 100%; padding: .25rem .5rem;
  color: inherit; background: var(--ground); border: 1px solid var(--edge); }}
.search output {{ display: inline-block; color: var(--soft); padding-left: .5rem; }}
:focus-visible {{ outline: 2px solid var(--link); outline-offset: 1px; }}
{_SHADES}
dl {{ columns: 19rem; column-gap: 2.5rem; margin: .6rem 0; font-size: .95rem; }}
dl div {{ display: flex; justify-content: space-between; gap: 1rem; break-inside: avoid; }}
dl div {{ border-bottom: 1px solid var(--pale); padding: .15rem 0; }}
dt {{ color: var(--soft); flex: none; max-width: 70%; }}
dd {{ margin: 0; text-align: right; font-variant-numeric: tabular-nums; min-width: 0; }}
@media screen and (max-width: 40rem) {{
  table:not(.live) :is(th, td) {{ white-space: normal; }}
  table:not(.live, .words) td:first-child {{ min-width: 9em; }}
  .words th, .words td {{ padding-right: .8rem; }}
  .words td.long {{ min-width: 12em; }}
  figure .wide img {{ max-width: none; max-height: none; width: 46rem; }}
  figure .small img {{ width: 32rem; }}
  figure .plain img {{ width: auto; max-width: 46rem; }}
  h1 {{ font-size: 1.5rem; }}
}}
@media print {{
  body {{ font-size: 10pt; }}
  h2, h3 {{ break-after: avoid; }}
  figure, tr, .said, .alarm, .private > .mark {{ break-inside: avoid; }}
  nav, .search, .live button::after {{ display: none; }}
  .wide {{ overflow: visible; }}
  table, .live {{ font-size: 7.5pt; }}
  .live th, .live td {{ padding: .1rem .3rem; }}
}}
"""

SCRIPT = """
for (const table of document.querySelectorAll("table.live")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = row => [...row.cells].map(cell => cell.textContent).join(" ").toLowerCase();
  const bar = document.createElement("p"), label = document.createElement("label");
  const field = document.createElement("input"), count = document.createElement("output");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every(word => text(row).includes(word));
    count.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} rows`;
  };
  field.type = "search";
  field.addEventListener("input", filter);
  bar.className = "search";
  label.append("Show rows with ", field);
  bar.append(label, count);
  table.parentElement.before(bar);
  filter();
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const order = (a, b) => "value" in a.dataset
        ? Number(a.dataset.value) - Number(b.dataset.value)
        : a.textContent.localeCompare(b.textContent);
      rows.sort((a, b) => way * order(a.cells[k], b.cells[k]));
      body.append(...rows);
    });
  });
}
"""
