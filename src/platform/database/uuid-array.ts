const uuid = /^[0-9a-f-]{36}$/i;

/**
 * Returns UUIDs as a parameter of type `uuid[]`; null stays null. The driver would search each for characters to
 * escape, which takes longer than everything else that is done for it. If one is no UUID, the list is returned as it
 * is, for the driver to send and PostgreSQL to refuse.
 */
export function uuidArray(ids: readonly (string | null)[]): string | readonly (string | null)[] {
  let elements = '';
  for (const id of ids) {
    if (id !== null && !uuid.test(id)) return ids;
    elements += `,${id}`;
  }
  return `{${elements.slice(1)}}`;
}
