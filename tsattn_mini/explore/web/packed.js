// gzip and base64, as `html.pack` and `html.zipped` made them.
export async function unzip(base64) {
  return gunzip(new Blob([decode(base64)]).stream());
}

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function gunzip(stream) {
  return new Uint8Array(await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

const arrays = { float32: Float32Array, int64: BigInt64Array };

// One array per step out of the bytes of all, in order.
export function split(bytes, steps) {
  let at = 0;
  return Object.fromEntries(steps.map((step) => {
    const size = step.dims.reduce((a, b) => a * b, 1) * arrays[step.type].BYTES_PER_ELEMENT;
    const part = array(step.type, bytes.buffer, bytes.byteOffset + at, size);
    at += size;
    return [step.name, part];
  }));
}

export function array(type, buffer, from, size) {
  return new arrays[type](buffer.slice(from, from + size));
}
