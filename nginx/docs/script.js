// Shows openapi.json, which lies one directory up, and sends requests. Text from outside is only ever set as text.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
let api, base, token;

// element("p", {className: "x"}, "text", child, …); null is left out.
function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// What a {"$ref": "#/a/b"} stands for, with what stands beside it.
function resolve(value) {
  while (value && value.$ref) {
    const {$ref, ...beside} = value;
    const found = $ref.slice(2).split("/")
      .reduce((node, key) => node[key.replaceAll("~1", "/").replaceAll("~0", "~")], api);
    value = {...found, ...beside};
  }
  return value;
}

const show = (value) => typeof value === "string" ? value : pretty(JSON.stringify(value));

// Lays out JSON without reading its numbers, which can be larger than JavaScript's.
function pretty(text) {
  try { JSON.parse(text); } catch { return text; }
  let out = "", depth = 0;
  const line = (change) => "\n" + "  ".repeat(depth += change);
  for (const [mark] of text.matchAll(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    if (mark === "{" || mark === "[") out += mark + line(1);
    else if (mark === "}" || mark === "]") out += line(-1) + mark;
    else out += mark === "," ? mark + line(0) : mark === ":" ? ": " : mark;
  }
  return out;
}

// A schema's own rules, in words.
function rules(schema) {
  const range = (low, high) => low === undefined ? high === undefined ? "" : "up to " + high
    : high === undefined ? "from " + low : low + " to " + high;
  // the largest id, which JavaScript cannot hold exactly
  const maximum = schema.maximum > Number.MAX_SAFE_INTEGER ? "2⁶³−1" : schema.maximum;
  const some = (text, unit) => text && text + unit;
  return [
    schema.const !== undefined ? JSON.stringify(schema.const) : [].concat(schema.type ?? []).join(" or "),
    schema.enum && schema.enum.map((one) => JSON.stringify(one)).join(" or "),
    range(schema.minimum, maximum),
    some(range(schema.minLength, schema.maxLength), " characters"),
    some(range(schema.minItems, schema.maxItems), " elements"),
    schema.pattern && schema.pattern !== "\\S" && "matches " + schema.pattern,
    schema.default !== undefined && "default " + JSON.stringify(schema.default),
  ].filter(Boolean).join(", ");
}

// A schema as a list of its members, or as a line.
function outline(schema, name, required) {
  schema = resolve(schema);
  const line = element("li", {}, name ? element("code", {}, name) : null, name ? " " : null,
    element("span", {className: "muted"}, [rules(schema), name && !required && "optional"].filter(Boolean).join(", ")),
    schema.description ? " – " + schema.description : null);
  const inner = element("ul", {});
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    inner.append(outline(member, key, schema.required?.includes(key)));
  }
  if (schema.items) inner.append(outline(schema.items));
  for (const kind of ["oneOf", "anyOf"]) {
    if (schema[kind]) {
      line.append(kind === "oneOf" ? "one of" : "any of");
      inner.append(...schema[kind].map((one) => outline(one)));
    }
  }
  if (inner.childElementCount) line.append(inner);
  return line;
}

function block(text, label) {
  return element("pre", {tabIndex: 0, ariaLabel: label}, text);
}

// Every example of a body, as [name, media type, value].
function examples(content) {
  return Object.entries(content ?? {}).flatMap(([type, media]) => media.examples
    ? Object.values(media.examples).map((one) => [one.summary, type, one.value])
    : [[type, type, media.example ?? ""]]);
}

function field(id, caption, control, help) {
  control.id = id;
  if (help) control.setAttribute("aria-describedby", id + "-help");
  return element("div", {className: "field"}, element("label", {htmlFor: id}, ...caption), control,
    help ? element("small", {id: id + "-help"}, help) : null);
}

function parameterField(operation, parameter) {
  const schema = resolve(parameter.schema);
  const example = String(parameter.example ?? "");
  const input = element("input", {
    name: parameter.name, required: parameter.in === "path", placeholder: parameter.required ? "" : example,
    value: parameter.required ? example : "", autocomplete: "off", spellcheck: false});
  const place = parameter.in + (parameter.required ? ", required" : "");
  return [input, field(`${operation.operationId}-${parameter.name}`,
    [element("code", {}, parameter.name), element("span", {className: "muted"}, " " + place)],
    input, [rules(schema), parameter.description].filter((text) => text && text !== "string").join(". "))];
}

// The fields of a request's body; gives back what tells its type and text.
function bodyFields(operation, form) {
  const choices = examples(operation.requestBody?.content);
  if (!choices.length) return () => null;
  const area = element("textarea", {spellcheck: false});
  const caption = element("span", {});
  let type;
  const choose = (index) => {
    type = choices[index][1];
    caption.textContent = "Body, " + type;
    area.value = show(choices[index][2]);
    area.rows = Math.min(area.value.split("\n").length, 20);
  };
  if (choices.length > 1) {
    const select = element("select", {onchange: () => choose(select.value)},
      ...choices.map(([name], index) => element("option", {value: index}, name)));
    form.append(field(operation.operationId + "-example", ["Example"], select));
  }
  form.append(field(operation.operationId + "-body", [caption], area));
  choose(0);
  return () => ({type, text: area.value});
}

// The place of an answer: a line that is read out when it changes, and the rest.
function answerPart() {
  const line = element("p", {role: "status"}), rest = element("div", {});
  const part = element("div", {className: "answer"}, line, rest);
  const fill = (fine, words, ...more) => {
    part.classList.toggle("fine", fine);
    line.replaceChildren(...words);
    rest.replaceChildren(...more);
  };
  return [part, fill];
}

async function send(method, path, inputs, body, fill) {
  const query = new URLSearchParams(), headers = new Headers();
  for (const [parameter, input] of inputs) {
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value === "") continue;
    else if (parameter.in === "query") query.append(parameter.name, input.value);
    else headers.set(parameter.name, input.value);
  }
  const bearer = token.value.trim();
  if (bearer) headers.set("Authorization", "Bearer " + bearer);
  if (body) headers.set("Content-Type", body.type);
  const url = base + path + (query.size ? "?" + query : "");
  const started = performance.now();
  const response = await fetch(url, {method, headers, body: body?.text, cache: "no-store", credentials: "omit"});
  const bytes = await response.arrayBuffer();
  const took = performance.now() - started;
  const text = new TextDecoder().decode(bytes);
  fill(response.ok,
    [element("strong", {className: "status"}, `${response.status} ${response.statusText}`.trim()),
      ` in ${took.toFixed(0)} ms, ${bytes.byteLength} bytes`],
    element("p", {}, element("code", {}, `${method} ${url}`)),
    block([...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n"), "Headers of the answer"),
    ...text ? [block(pretty(text), "Body of the answer")] : []);
  return [response, text];
}

function tryIt(method, path, item, operation) {
  const parameters = [...item.parameters ?? [], ...operation.parameters ?? []].map(resolve);
  const [answer, fill] = answerPart();
  const button = element("button", {}, "Send");
  const form = element("form", {});
  const made = parameters.map((parameter) => [parameter, ...parameterField(operation, parameter)]);
  if (made.length) form.append(element("div", {className: "fields"}, ...made.map((one) => one[2])));
  const body = bodyFields(operation, form);
  form.append(button);
  form.onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const [response, text] = await send(method.toUpperCase(), path, made, body(), fill);
      if (operation.operationId === "login" && response.ok) token.value = JSON.parse(text).token;
    } catch (error) {
      fill(false, ["The request could not be sent: " + error.message]);
    }
    button.disabled = false;
  };
  return [form, answer];
}

function responsePart(status, response) {
  response = resolve(response);
  const inner = element("div", {});
  const headers = Object.keys(response.headers ?? {});
  if (headers.length) inner.append(element("p", {className: "muted"}, "Headers: ", headers.join(", ")));
  for (const [type, media] of Object.entries(response.content ?? {})) {
    inner.append(element("p", {className: "muted"}, type), element("ul", {}, outline(media.schema)));
  }
  for (const [name, , value] of examples(response.content)) {
    if (value !== "") inner.append(block(show(value), "Example: " + name));
  }
  return element("details", {className: "response"},
    element("summary", {}, element("strong", {}, status), " " + response.description), inner);
}

function operationPart(method, path, item) {
  const operation = item[method];
  const part = element("details", {className: "operation", id: operation.operationId},
    element("summary", {}, element("span", {className: "method " + method}, method.toUpperCase()),
      element("code", {}, path), element("span", {}, operation.summary),
      operation.security ? element("small", {}, "token") : null));
  const fill = () => {
    const body = Object.values(operation.requestBody?.content ?? {})[0];
    part.append(element("div", {},
      operation.description ? element("p", {}, operation.description) : null,
      ...tryIt(method, path, item, operation),
      ...body ? [element("h3", {}, "Body"), element("ul", {}, outline(body.schema))] : [],
      element("h3", {}, "Answers"),
      ...Object.entries(operation.responses).map(([status, response]) => responsePart(status, response))));
  };
  part.addEventListener("toggle", () => {
    if (part.childElementCount === 1) fill();
    if (part.open) history.replaceState(null, "", "#" + part.id);
  });
  return part;
}

function openNamed() {
  const part = document.getElementById(location.hash.slice(1));
  if (part instanceof HTMLDetailsElement) {
    part.open = true;
    part.scrollIntoView();
  }
}

async function start() {
  const about = document.getElementById("about");
  const main = document.getElementById("operations");
  try {
    const response = await fetch("../openapi.json");
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    api = await response.json();
    base = new URL(api.servers[0].url, response.url).href.replace(/\/$/, "");
  } catch (error) {
    about.textContent = "The description of the API cannot be read: " + error.message;
    return;
  }
  document.querySelector("h1").append(" ", element("small", {}, api.info.version));
  about.replaceWith(
    element("p", {}, api.info.summary + " Served at ", element("code", {}, base), ", described by ",
      element("a", {href: "../openapi.json"}, "openapi.json"), "."),
    element("details", {}, element("summary", {}, "What holds for every route"),
      ...api.info.description.split("\n\n").map((text) => element("p", {className: "muted"}, text))));
  token = element("input", {autocomplete: "off", spellcheck: false});
  main.append(field("token", ["Bearer token"], token,
    "Sent with every request from this page and kept nowhere. POST /api/login puts its token here."));
  for (const tag of api.tags) {
    main.append(element("h2", {}, tag.name), element("p", {}, tag.description));
    for (const [path, item] of Object.entries(api.paths)) {
      main.append(...METHODS.filter((method) => item[method]?.tags.includes(tag.name))
        .map((method) => operationPart(method, path, item)));
    }
  }
  openNamed();
  addEventListener("hashchange", openNamed);
}

start();
