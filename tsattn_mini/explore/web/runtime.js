// The answering side of the static book: the exported graph, run by onnxruntime-web. Nothing is loaded before
// the first question, and one runtime serves every explorer of the page.
import * as ort from "onnxruntime-web/wasm";
import { addScript, beside, inside } from "./beside.js";
import { gunzip, split, unzip } from "./packed.js";
import { padded } from "./pieces.js";

let awake;

function wake() {
  awake ??= wasm().then((bytes) => {
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmBinary = bytes;
    ort.env.logLevel = "error";
  });
  awake.catch(() => { awake = undefined; }); // the next move tries again
  return awake;
}

async function wasm() {
  const packed = inside("ort.wasm.gz");
  if (packed) return unzip(packed);
  if (location.protocol !== "file:") {
    const answer = await fetch(beside("ort.wasm.gz"));
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
    return unpacked(await answer.arrayBuffer());
  }
  return unzip(await new Promise((resolve, reject) => {
    self.tsattnWasm = resolve; // called by the script: a page opened from disk cannot fetch
    addScript("ort.wasm.gz.js", reject);
  }));
}

const coming = {};
self.tsattnGraph = (name, base64) => coming[name](base64);

// A large graph stands in a script beside the page or in a file inside it, and `graph` is that one's name.
function packed(graph) {
  if (!graph.endsWith(".js")) return graph;
  if (inside(graph)) return inside(graph);
  return new Promise((resolve, reject) => {
    coming[graph] = resolve;
    addScript(graph, reject);
  });
}

// A server may have unpacked the file already.
function unpacked(buffer) {
  const [a, b] = new Uint8Array(buffer, 0, 2);
  return a === 0x1f && b === 0x8b ? gunzip(new Blob([buffer]).stream()) : new Uint8Array(buffer);
}

export function graphBackend(spec) {
  const choices = spec.inputs.filter((input) => input.kind === "choice");
  const start = JSON.stringify(Object.fromEntries(spec.inputs.map(({ name, value }) => [name, value])));
  const sessions = {};

  function session(key) {
    sessions[key] ??= Promise.all([Promise.resolve(packed(spec.graphs[key])).then(unzip), wake()])
      .then(([bytes]) => ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] }));
    sessions[key].catch(() => { delete sessions[key]; });
    return sessions[key];
  }

  async function ask(values, steps) {
    const graph = await session(choices.map((input) => values[input.name]).join("|"));
    const feeds = {};
    for (const input of spec.inputs) {
      const name = `in/${input.name}`;
      if (graph.inputNames.includes(name)) feeds[name] = tensor(input, values[input.name]);
    }
    return inTurn(() => graph.run(feeds, steps));
  }

  const names = spec.steps.map((step) => step.name);
  return {
    async run(values) {
      if (JSON.stringify(values) === start) return split(await unzip(spec.first), spec.steps); // as the page came, to the last digit
      const out = await ask(values, names);
      return Object.fromEntries(names.map((name) => [name, out[name].data]));
    },
    atOnce: 1,
    // One step at many states, each `base` with some inputs moved.
    many: (base, moves, name) => Promise.all(moves.map(async (moved) => (await ask({ ...base, ...moved }, [name]))[name].data)),
  };
}

// The runtime answers one question at a time.
let before = Promise.resolve();
function inTurn(question) {
  const answer = before.then(question);
  before = answer.catch(() => {});
  return answer;
}

function tensor(input, value) {
  if (input.kind === "toggle") return new ort.Tensor("bool", [value], []);
  if (input.kind === "cells") return new ort.Tensor("float32", Float32Array.from(value.flat()), input.dims);
  if (input.kind === "tokens") return new ort.Tensor("int64", BigInt64Array.from(padded(input, value.text ?? value, value.without), BigInt), [input.length]);
  if (input.integer) return new ort.Tensor("int64", [BigInt(value)], []);
  return new ort.Tensor("float32", [value], []);
}
