/** Returns the size of a value as JSON, in bytes. */
export const bytesOfJson = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Returns the first elements of a list, as many as fit into JSON of `maxBytes`. */
export function fittingJson<One>(list: readonly One[], maxBytes: number): readonly One[] {
  let bytes = 2;
  const beyond = list.findIndex((one) => {
    bytes += bytesOfJson(one) + 1;
    return bytes > maxBytes;
  });
  return beyond < 0 ? list : list.slice(0, beyond);
}
