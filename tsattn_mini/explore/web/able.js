// Can this browser run what explorers and drawn numbers are computed with?
const NEEDED = ["WebAssembly", "DecompressionStream", "structuredClone"];

export function able() {
  return NEEDED.every((name) => name in globalThis);
}
