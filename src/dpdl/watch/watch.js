// The live page: asks its own server for what is new, and draws it.
(() => {
  "use strict";
  const {chart, number, large, known, element, make, tint} = curves;
  const find = name => document.getElementById(name);
  const TOKEN = new URLSearchParams(location.search).get("token") || "";
  const AWAKE = 1000, ASLEEP = 10000, LOST = 4000, SHOWN = 8, ROWS = 200;
  const THREATS = {
    eavesdropper: "eavesdropper", neighbour: "one neighbour", final_model: "final model",
  };
  const hue = (name, dash = []) => ({colour: HUES[name].light, dark: HUES[name].dark, dash});
  const HUE_OF = {  // where two are equal, dashes let both be seen
    eavesdropper: hue("blue"), neighbour: hue("green", [5, 3]), final_model: hue("purple", [1, 2]),
  };
  const runs = new Map();          // by id, in the order of the server
  const switched = new Map();      // id -> whether a person wants to see it
  let chosen = null, told = null, picked = null, agent = null;

  const threat = key => THREATS[key] || key.replace("neighbours:", "neighbours, ");
  const span = seconds => {
    if (!known(seconds)) return "–";
    const whole = Math.round(seconds), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
    if (h) return `${h} h ${m} min`;
    return m ? `${m} min ${whole % 60} s` : `${whole} s`;
  };
  const epsilon = value => (typeof value === "number" ? number(value) : value || "–");
  const last = column => (column && column.length ? column[column.length - 1] : null);

  // ---------------------------------------------------------------- asking
  const ask = async path => {
    const answer = await fetch(path, {headers: {Authorization: `Bearer ${TOKEN}`}, cache: "no-store"});
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };
  const have = () => [...runs.values()].map(run => `${run.id}.${run.generation}.${run.rounds}`).join(",");

  const poll = async () => {
    let wait = document.hidden ? ASLEEP : AWAKE;
    try {
      take(await ask(`/runs?have=${have()}`));
      status("live", `live, ${new Date().toLocaleTimeString()}`);
      render();
    } catch (failure) {
      wait = LOST;
      const shut = failure.message === "403";
      status("lost", shut ? "refused: the server was started again, use its new address"
        : "no answer; what is shown is the last that was known");
      if (!(failure instanceof TypeError) && !/^\d+$/.test(failure.message)) console.error(failure);
    }
    setTimeout(poll, wait);
  };
  const status = (state, text) => {
    find("live").dataset.state = state;
    if (find("live").textContent !== text) find("live").textContent = text;
  };

  const take = answer => {
    told = answer;
    const ids = new Set(answer.runs.map(run => run.id));
    for (const id of [...runs.keys()]) if (!ids.has(id)) runs.delete(id);
    for (const run of answer.runs) {
      const before = runs.get(run.id), columns = run.columns;
      if (before && run.known) {
        for (const [name, values] of Object.entries(columns))
          before.columns[name] = (before.columns[name] || []).concat(values);
        run.columns = before.columns;
      }
      runs.set(run.id, run);
    }
    if (!runs.has(chosen)) { chosen = null; picked = null; }
    if (chosen === null && runs.size) {
      const every = [...runs.values()], going = every.filter(run => run.state === "running");
      chosen = (going.length ? going : every).at(-1).id;
    }
    name();
  };

  // Runs of one algorithm have its colour; their dashes and names tell them apart.
  const name = () => {
    const seen = {}, labels = {};
    for (const run of runs.values()) {
      const k = seen[run.algorithm] = (seen[run.algorithm] || 0) + 1;
      const others = DASHES.filter(dash => String(dash) !== String(run.look.dash));
      run.style = {...run.look, dash: k === 1 ? run.look.dash : others[(k - 2) % others.length]};
      labels[run.name] = (labels[run.name] || 0) + 1;
      run.label = labels[run.name] === 1 ? run.name : `${run.name} (${labels[run.name]})`;
    }
  };
  const shown = run => {
    if (switched.has(run.id)) return switched.get(run.id);
    return run.id === chosen || [...runs.keys()].slice(-SHOWN).includes(run.id);
  };

  // ---------------------------------------------------------------- panels
  const group = [];
  const PANELS = [
    {
      key: "score", heading: run => run.score.label, column: "score",
      note: "Mean over agents; the band reaches from the worst to the best agent.",
      overlay: "Mean over the agents of each run.",
      single: run => [
        series(run, "mean of agents", "score", hue("blue"), "score_worst", "score_best"),
        series(run, "average of all models", "score_average", hue("vermillion", [5, 2])),
      ],
      facts: run => ({percent: run.score.percent}),
    },
    {
      key: "epsilon", heading: () => "epsilon, proven and claimed", column: "epsilon",
      note: "Proven for the agent that is worst off, over all planned rounds; Theorem 1 only claims.",
      single: run => spending(run), facts: run => ({
        ends: run.total ? [0, run.total] : undefined, now: run.state === "finished" ? undefined : run.done, zero: true,
      }),
      overlay: "Proven so far, against the threat that each run was asked to withstand.",
    },
    {
      key: "loss", heading: () => "training loss", column: "loss",
      note: "On the agents' own batches, without noise; the band reaches from the lowest to the highest.",
      overlay: "On the agents' own batches, without noise; mean over the agents of each run.",
      single: run => [series(run, "mean of agents", "loss", hue("blue"), "loss_min", "loss_max")],
    },
    {
      key: "noise", heading: () => "noise against signal", column: "signal",
      note: "Length of the noise on an answer over the length of the clipped gradient in it; above 1 noise is longer.",
      single: run => [ratio(run, "noise / gradient", hue("blue"))],
      values: run => ratio(run, "", {}).y,
    },
    {
      key: "distance", heading: () => "distance between models", column: "distance",
      note: "Root mean square distance of the agents' models from their average.",
      single: run => [series(run, "distance", "distance", hue("blue"))], facts: () => ({zero: true}),
    },
    {
      key: "clip", heading: () => "share of clipped gradients", column: "clip",
      note: "Gradients that clipping made shorter, mean over agents.",
      single: run => [series(run, "clipped", "clip", hue("blue"))], facts: () => ({percent: true}),
    },
    {
      key: "bytes", heading: () => "bytes sent", column: "bytes",
      note: "By all agents so far, without headers.",
      single: run => [series(run, "sent", "bytes", hue("blue"))], facts: () => ({zero: true, unit: "B"}),
    },
    {
      key: "seconds", heading: () => "time", column: "seconds",
      note: "Seconds so far; a larger batch takes longer, and its size is private.",
      single: run => [series(run, "time", "seconds", hue("blue"))], facts: () => ({zero: true, unit: "s"}),
    },
  ];

  const series = (run, label, column, style, low, high) => {
    const c = run.columns, line = {name: label, ...style, x: c.round || [], y: c[column] || []};
    if (!c[column] || !c[column].some(known)) return {...line, x: [], y: []};
    if (low && c[low] && c[high]) { line.low = c[low]; line.high = c[high]; }
    return line;
  };
  const ratio = (run, label, style) => {
    const noise = run.epsilon && run.epsilon.noise, line = series(run, label, "signal", style);
    const y = known(noise) ? line.y.map(one => (known(one) && one > 0 ? noise / one : null)) : [];
    return y.some(known) ? {...line, y} : {...line, x: [], y: []};
  };
  const spending = run => {
    const e = run.epsilon;
    if (!e) return [series(run, "proven", "epsilon", hue("blue"))];
    const lines = Object.entries(e.proven).filter(([, values]) => values.some(known)).map(([key, y]) => ({
      name: `proven, ${threat(key)}`, ...(HUE_OF[key] || hue("ochre", [8, 4])), x: e.rounds, y,
    }));
    if (typeof e.claimed === "number" && e.planned)
      lines.push({name: "claimed by Theorem 1", ...hue("vermillion", [5, 2]), x: [1, e.planned], y: [e.claimed, e.claimed]});
    return lines;
  };

  const panel = (parent, key, private_) => {
    const box = element(parent, "figure", "panel"), head = element(box, "header");
    const title = element(head, "h3"), mark = element(head, "p", "mark", "Not covered by epsilon");
    box.dataset.panel = key;
    mark.hidden = !private_;
    return {box, title, mark};
  };
  const cover = ({box, mark}, covered) => {
    box.classList.toggle("private", !covered);
    mark.hidden = covered;
  };

  const build = () => {
    const place = find("panels");
    buildWorld(panel(place, "world"));
    for (const one of PANELS) {
      Object.assign(one, panel(place, one.key));
      one.chart = chart(one.box, {label: one.key, group, x: "round"});
      if (one.key === "epsilon") {
        one.table = element(element(one.box, "div", "wide"), "table", "plain");
        one.table.setAttribute("aria-label", "Epsilon per threat model");
      }
      one.caption = element(one.box, "figcaption", "", one.note);
    }
  };

  const drawPanels = run => {
    const visible = [...runs.values()].filter(shown), several = visible.length > 1;
    for (const one of PANELS) {
      const there = !told.public || run.covered[one.column];
      one.box.hidden = !there;
      if (!there) continue;
      one.title.textContent = one.heading(run);
      cover(one, run.covered[one.column]);
      const alike = visible.filter(other => other.score.label === run.score.label);
      const lines = several
        ? alike.map(other => (one.values
          ? ratio(other, other.label, other.style) : series(other, other.label, one.column, other.style)))
        : one.single(visible[0] || run);
      const facts = {label: one.heading(run), now: undefined, ends: undefined, ...(one.facts ? one.facts(run) : {})};
      if (several) facts.now = facts.ends = undefined;
      one.caption.textContent = several && one.overlay ? one.overlay : one.note;
      if (one.key === "epsilon") drawEpsilon(one, run, lines);
      one.chart.show(lines, facts);
    }
  };

  // A claim far below what is proven would lie flat on the axis.
  const drawEpsilon = (one, run, lines) => {
    const tops = lines.map(line => last(line.y.filter(known))).filter(value => value > 0);
    if (!one.scaled && tops.length > 1) {
      one.scaled = true;
      if (Math.max(...tops) > 20 * Math.min(...tops)) one.chart.setLog(true);
    }
    const e = run.epsilon, rows = [["against", "spent", "at the end", "left"]];
    if (e) for (const key of Object.keys(e.proven)) {
      const spent = e.spent[key], end = e.end[key];
      const left = typeof spent === "number" && typeof end === "number" ? number(Math.max(0, end - spent)) : "–";
      rows.push([`${threat(key)}${key === e.main ? " (asked for)" : ""}`, epsilon(spent), epsilon(end), left]);
    }
    if (e && e.claimed !== null && e.claimed !== undefined)
      rows.push(["claimed by Theorem 1, no guarantee", "", epsilon(e.claimed), ""]);
    fill(one.table, rows);
    one.table.parentElement.hidden = rows.length === 1;
    const told_ = e ? `${e.note || ""} Spent is after ${number(e.spent_after)} round${e.spent_after === 1 ? "" : "s"}; delta ${e.delta}. ${e.wrong}` : "";
    if (told_) one.caption.textContent += ` ${told_.trim()}`;
  };

  // Cells are only touched when they change, so that a selection survives.
  const fill = (table, rows) => {
    const key = JSON.stringify(rows);
    if (table.dataset.key === key) return;
    table.dataset.key = key;
    table.replaceChildren();
    const head = element(element(table, "thead"), "tr"), body = element(table, "tbody");
    for (const text of rows[0]) element(head, "th", text.endsWith("*") ? "bare" : "", text).scope = "col";
    for (const row of rows.slice(1)) {
      const line = element(body, "tr");
      row.forEach((text, k) => {
        const cell = element(line, k ? "td" : "th", "", text);
        if (!k) cell.scope = "row";
      });
    }
  };

  // ---------------------------------------------------------------- the graph
  const world = {};
  const buildWorld = parts => {
    Object.assign(world, parts);
    world.box.id = "world";
    world.svg = make(world.box, "svg", {viewBox: "-1.12 -1.12 2.24 2.24", role: "application", tabindex: 0});
    world.scale = element(world.box, "div", "scale");
    world.low = element(world.scale, "span");
    element(world.scale, "i");
    world.high = element(world.scale, "span");
    world.said = element(world.box, "output");
    world.slider = element(world.box, "input");
    world.slider.type = "range";
    world.slider.setAttribute("aria-label", "Round whose scores colour the agents");
    world.caption = element(world.box, "figcaption");
    world.slider.addEventListener("input", () => pick(Number(world.slider.value)));
    world.svg.addEventListener("pointermove", event => {
      const box = world.svg.getBoundingClientRect(), size = Math.min(box.width, box.height);
      const x = ((event.clientX - box.left - box.width / 2) / size) * 2.24;
      const y = ((event.clientY - box.top - box.height / 2) / size) * 2.24;
      choose(nearestAgent(x, y));
    });
    world.svg.addEventListener("pointerleave", () => choose(null));
    world.svg.addEventListener("keydown", event => {
      const count = world.points ? world.points.length : 0;
      const moves = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
      if (!count || !(event.key in moves)) return;
      choose(agent === null ? 0 : (agent + moves[event.key] + count) % count);
      event.preventDefault();
    });
  };
  const nearestAgent = (x, y) => {
    let best = null, least = 0.02;
    (world.points || []).forEach(([px, py], k) => {
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) { least = far; best = k; }
    });
    return best;
  };
  const choose = which => {
    if (world.nodes && agent !== null && world.nodes[agent]) world.nodes[agent].classList.remove("chosen");
    agent = which;
    if (world.nodes && agent !== null) world.nodes[agent].classList.add("chosen");
    sayAgent();
  };
  const sayAgent = () => {
    const run = runs.get(chosen), scores = world.scores;
    let text = "";
    if (agent !== null && run) {
      const value = scores ? number(scores[agent], run.score.percent) : "no score";
      text = `agent ${agent}: ${value}`;
      if (scores) text += `, place ${scores.filter(one => better(run, one, scores[agent])).length + 1} of ${scores.length}`;
    }
    if (world.said.textContent !== text) world.said.textContent = text;
  };
  const better = (run, a, b) => (run.score.percent ? a > b : a < b);

  const pick = async place => {
    const run = runs.get(chosen), rounds = run.columns.round || [];
    picked = place >= rounds.length - 1 ? null : rounds[place];
    if (picked === null) { world.past = null; drawWorld(run); return; }
    const asked = picked;
    try {
      const answer = await ask(`/agents?run=${run.id}&round=${asked}`);
      if (picked === asked && chosen === run.id) { world.past = answer; drawWorld(run); }
    } catch (failure) { if (picked === asked) world.past = null; }
  };

  const drawWorld = async run => {
    const key = `${run.id} ${run.graph}`;
    if (world.key !== key) {
      world.key = key;
      world.past = null;
      picked = null;
      choose(null);
      let found;
      try { found = await ask(`/graph?run=${run.id}`); } catch (failure) { world.key = null; return; }
      if (world.key !== key) return;
      layOut(found);
    }
    if (!world.nodes) return;
    const now = picked === null ? run.agents : world.past && world.past.agents;
    colour(run, now || null);
    const rounds = run.columns.round || [];
    world.slider.hidden = world.scale.hidden = !world.scores;
    world.slider.max = Math.max(0, rounds.length - 1);
    world.slider.value = picked === null ? world.slider.max : rounds.indexOf(picked);
    const when = picked === null ? last(rounds) : picked;
    world.slider.setAttribute("aria-valuetext", `round ${when}`);
    world.title.textContent = `${run.score.label} of every agent${when ? `, round ${when.toLocaleString("en-US")}` : ""}`;
    cover(world, run.covered.score || !world.scores);
    world.caption.textContent = `${world.about}${world.scores ? "" : " Scores of single agents are not in the files of this run."}`;
    sayAgent();
  };
  const layOut = found => {
    world.svg.replaceChildren();
    world.nodes = null;
    world.points = found.points;
    if (found.wrong) { world.about = found.wrong; world.nodes = []; return; }
    const radius = Math.min(0.075, Math.max(0.011, 0.4 * found.room));
    const thin = Math.max(0.0015, Math.min(0.008, 2 / Math.max(1, found.drawn)));
    make(world.svg, "path", {class: "edges", d: found.path, "stroke-width": thin});
    world.nodes = found.points.map(([x, y]) => make(world.svg, "circle", {cx: x, cy: y, r: radius, "stroke-width": radius / 6}));
    const some = found.drawn < found.edges ? ` (${found.drawn.toLocaleString("en-US")} drawn)` : "";
    world.about = `${found.name}: ${found.agents} agents, ${found.edges.toLocaleString("en-US")} edges${some}, spectral gap ${found.gap}.`;
    world.svg.setAttribute("aria-label", `Graph ${world.about} Arrow keys go from agent to agent.`);
  };
  const colour = (run, scores) => {
    world.scores = scores && scores.length === world.nodes.length ? scores : null;
    if (!world.scores) { for (const node of world.nodes) node.classList.remove("known"); return; }
    const real = world.scores.filter(known), low = Math.min(...real), high = Math.max(...real);
    world.nodes.forEach((node, k) => {
      const value = world.scores[k], share = high > low ? (value - low) / (high - low) : 0.5;
      node.classList.toggle("known", known(value));
      node.style.setProperty("--share", `${Math.round(100 * share)}%`);
    });
    world.low.textContent = number(low, run.score.percent);
    world.high.textContent = number(high, run.score.percent);
  };

  // ---------------------------------------------------------------- words and tables
  const drawRuns = () => {
    find("runs").hidden = runs.size < 2;
    const body = find("table").tBodies[0];
    const rows = new Map([...body.rows].map(row => [Number(row.dataset.run), row]));
    for (const [id, row] of rows) if (!runs.has(id)) row.remove();
    for (const run of runs.values()) {
      const row = rows.get(run.id) || newRow(body, run);
      const c = run.columns;
      const words = [null, null, stateOf(run), `${number(run.done)} / ${run.total ? number(run.total) : "?"}`,
        number(last(c.score), run.score.percent), spentOf(run), number(last(c.loss)),
        run.state === "finished" ? "" : run.state === "quiet" ? "–" : span(run.left)];
      words.forEach((text, k) => { if (text !== null && row.cells[k].textContent !== text) row.cells[k].textContent = text; });
      row.setAttribute("aria-selected", String(run.id === chosen));
      row.cells[0].querySelector("input").checked = shown(run);
      const button = row.cells[1].querySelector("button");
      if (button.textContent !== run.label) button.textContent = run.label;
    }
    for (const cell of document.querySelectorAll("#table .bare")) cell.hidden = told.public;
    for (const row of body.rows) for (const k of [6, 7]) row.cells[k].hidden = told.public;
    const more = told.left_out ? `${told.left_out} older runs are not shown.` : "";
    find("more").textContent = more;
  };
  const newRow = (body, run) => {
    const row = document.createElement("tr");
    body.prepend(row);
    row.dataset.run = run.id;
    for (let k = 0; k < 8; k += 1) element(row, "td");
    const label = element(row.cells[0], "label"), box = element(label, "input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Show the curves of ${run.label}`);
    box.addEventListener("change", () => { switched.set(run.id, box.checked); render(); });
    const key = make(label, "svg", {"aria-hidden": "true"});
    tint(make(key, "line", {x1: 0, x2: 22, y1: 5, y2: 5, class: "curves-line"}), run.style);
    const button = element(row.cells[1], "button", "", run.label);
    button.type = "button";
    button.title = `${run.title}: show its graph and numbers`;
    button.addEventListener("click", () => { chosen = run.id; picked = null; render(); });
    return row;
  };
  const stateOf = run => {
    const state = run.state === "quiet" ? `quiet for ${span(run.quiet)}` : run.state;
    return run.damaged ? `${state}, damaged` : state;
  };
  const spentOf = run => {
    const e = run.epsilon;
    if (e && e.spent[e.main] !== undefined) return epsilon(e.spent[e.main]);
    return number(last(run.columns.epsilon));
  };

  const drawTiles = run => {
    const c = run.columns, e = run.epsilon, p = run.score.percent, tiles = [];
    tiles.push(["round", `${number(run.done)} / ${run.total ? number(run.total) : "?"}`, stateOf(run), true]);
    if (c.score) tiles.push([`${run.score.label}, mean`, number(last(c.score), p),
      `${number(last(c.score_worst), p)} to ${number(last(c.score_best), p)}`, run.covered.score]);
    const end = e && e.end[e.main] !== undefined ? `of ${epsilon(e.end[e.main])} at the end, ${threat(e.main)}` : "proven so far";
    tiles.push(["epsilon spent", spentOf(run), end, true]);
    tiles.push(["sent by all agents", c.bytes && c.bytes.length ? `${large(last(c.bytes))}B` : "–", "without headers", true]);
    if (c.loss && known(last(c.loss))) tiles.push(["training loss", number(last(c.loss)), "not covered by epsilon", false]);
    if (c.seconds) tiles.push(["time left", run.state === "finished" ? "done" : run.state === "quiet" ? "–" : span(run.left),
      `${span(last(c.seconds))} so far; not covered`, false]);
    const place = find("tiles"), key = JSON.stringify(tiles);
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    place.replaceChildren();
    for (const [title, value, small, covered] of tiles) {
      const box = element(place, "div", covered ? "" : "private");
      element(box, "dt", "", title);
      element(element(box, "dd", "", value), "small", "", small);
    }
  };

  const drawNotices = run => {
    const words = [];
    if (told.public) words.push(["", "Public version: what no epsilon covers is left out."]);
    else words.push(["", "For you, not for others: what is marked “Not covered by epsilon” is computed from records without noise, or tells about them."]);
    if (told.remote) words.push(["alarm", "This page is served to other machines, encrypted. Who has its address has its token."]);
    if (run && run.simulated) words.push(["alarm", "This run draws its noise from a seed: it is a simulation. Nothing of it is covered if somebody knows the seed."]);
    const place = find("notices"), key = JSON.stringify(words);
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    place.replaceChildren();
    for (const [kind, text] of words) element(place, "p", `said ${kind}`, text);
  };

  const LABELS = {
    round: "round", score: "score, mean", score_worst: "worst", score_best: "best",
    score_average: "average model", distance: "distance", epsilon: "epsilon", bytes: "bytes sent",
    loss: "loss, mean", loss_min: "lowest", loss_max: "highest", clip: "clipped",
    signal: "gradient length", broken: "broken gradients", seconds: "seconds",
  };
  const drawNumbers = run => {
    if (!find("numbers").open) return;
    const names = Object.keys(LABELS).filter(key => run.columns[key] && run.columns[key].some(known));
    const count = (run.columns.round || []).length, from = Math.max(0, count - ROWS);
    const rows = [names.map(key => `${LABELS[key]}${run.covered[key] ? "" : " *"}`)];
    for (let k = count - 1; k >= from; k -= 1)
      rows.push(names.map(key => number(run.columns[key][k], run.score.percent && key.startsWith("score"))));
    const place = find("numbers").querySelector(".wide");
    place.classList.add("tall");
    fill(place.firstChild || element(place, "table", "plain"), rows);
    find("numbers").querySelector("p").textContent = from ? `The latest ${ROWS} of ${count} evaluated rounds.` : "";
  };
  const drawAgents = run => {
    if (!find("each").open) return;
    const scores = world.scores || [], place = find("each").querySelector(".wide");
    place.classList.add("tall");
    const mark = run.covered.score ? "" : " *";
    fill(place.firstChild || element(place, "table", "plain"),
      [["agent", `${run.score.label}${mark}`], ...scores.map((one, k) => [String(k), number(one, run.score.percent)])]);
    find("each").querySelector("p").textContent = scores.length ? "" : "They are not in the files of this run.";
  };

  const render = () => {
    const run = runs.get(chosen);
    find("folder").textContent = told.folder;
    drawNotices(run);
    drawRuns();
    find("one").hidden = !run;
    if (!run) { find("more").textContent = ""; status("live", "live; there is no run yet"); return; }
    document.title = `${number(run.done)}/${run.total || "?"} ${run.label} · dpdl watch`;
    find("title").textContent = told.public || runs.size < 2 ? run.title : `${run.label}: ${run.title}`;
    find("progress").value = run.total ? run.done / run.total : 0;
    find("wrong").hidden = !run.wrong;
    find("wrong").textContent = run.wrong;
    drawTiles(run);
    drawPanels(run);
    drawWorld(run).then(() => drawAgents(run));
    drawNumbers(run);
  };

  // ---------------------------------------------------------------- dark and light
  const themes = ["auto", "light", "dark"];
  const dress = theme => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    find("theme").textContent = `theme: ${theme}`;
  };
  let theme = "auto";
  try { theme = localStorage.getItem("theme") || "auto"; } catch (failure) { /* private mode */ }
  if (!themes.includes(theme)) theme = "auto";
  dress(theme);
  find("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    dress(theme);
    try { localStorage.setItem("theme", theme); } catch (failure) { /* private mode */ }
  });
  for (const key of ["numbers", "each"]) find(key).addEventListener("toggle", () => told && runs.has(chosen) && render());
  document.addEventListener("visibilitychange", () => { if (!document.hidden && told) render(); });
  build();
  poll();
})();
