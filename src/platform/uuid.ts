/** How an id is written, as a part of a pattern. */
export const uuidPattern = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** A whole one. The format of the same name that validators come with takes `urn:uuid:` before it, which PostgreSQL does not. */
export const uuid = new RegExp(`^${uuidPattern}$`);

/** Whether something can be an id at all; what cannot is in no table, and PostgreSQL would refuse to look. */
export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

/** Before and after all others (RFC 9562 §5.9, §5.10); nothing ever has one of them: ids are of version 7. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
export const maxUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
