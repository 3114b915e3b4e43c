import { isUuid, nilUuid } from '../../platform/uuid.js';

/**
 * Returns the id in a path or, for a text that is not an id, one that no resource has: the answer is 404, which comes
 * before 400 (contract §10).
 */
export const pathId = (text: string): string => (isUuid(text) ? text : nilUuid);
