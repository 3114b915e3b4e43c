/** Bytes that a value takes as JSON. */
export const bytesOfJson = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** As many of the first ones of a list as JSON of `most` bytes has room for. */
export function fittingJson<One>(list: readonly One[], most: number): readonly One[] {
  let bytes = 2;
  const beyond = list.findIndex((one) => {
    bytes += bytesOfJson(one) + 1;
    return bytes > most;
  });
  return beyond < 0 ? list : list.slice(0, beyond);
}
