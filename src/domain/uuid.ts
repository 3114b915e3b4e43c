/** How an id is written. The format of the same name that validators come with takes `urn:uuid:` before it, which PostgreSQL does not. */
export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether something can be an id at all; what cannot is in no table, and PostgreSQL would refuse to look. */
export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);
