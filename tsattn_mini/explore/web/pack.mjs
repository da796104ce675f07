// Packs the WebAssembly runtime for the bundle, where it is missing or older than what npm fetched.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const wasm = "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm";
const folder = "tsattn_mini/explore/web/dist", packed = `${folder}/ort.wasm.gz`;

const age = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;

if (age(packed) < age(wasm)) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(packed, gzipSync(readFileSync(wasm), { level: 9 }));
}
