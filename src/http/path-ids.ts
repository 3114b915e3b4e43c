import { isUuid, nilUuid } from '../platform/uuid.js';

/**
 * A path with something that is no id names nothing that exists, and is answered like that (contract §10: 404 before
 * 400).
 */
export const pathId = (text: string): string => (isUuid(text) ? text : nilUuid);
