const uuid = /^[0-9a-f-]{36}$/i;

/**
 * UUIDs as a parameter of type `uuid[]`; null stands for itself. The driver would look in each for what to escape, which takes
 * longer than all the rest that is done for it. Where one is no UUID they are left to the driver, and PostgreSQL to refuse.
 */
export function uuidArray(ids: readonly (string | null)[]): string | readonly (string | null)[] {
  let elements = '';
  for (const id of ids) {
    if (id !== null && !uuid.test(id)) return ids;
    elements += `,${id}`;
  }
  return `{${elements.slice(1)}}`;
}
