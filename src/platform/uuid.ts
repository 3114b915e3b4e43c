/** The written form of an id, as part of a pattern. */
export const uuidPattern = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** Matches a whole id. Validators' own `uuid` format also accepts a leading `urn:uuid:`, which PostgreSQL does not. */
export const uuid = new RegExp(`^${uuidPattern}$`);

/** Whether a value can be an id: any other value is in no table, and PostgreSQL would refuse the look-up. */
export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

/** They sort before and after all other ids (RFC 9562 §5.9, §5.10). No row has one of them: ids are of version 7. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
export const maxUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
