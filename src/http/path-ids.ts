import { isUuid, nilUuid } from '../platform/uuid.js';

/** What a path names by something that is no id is not there, and is answered like anything that is not (contract §10: 404 before 400). */
export const pathId = (text: string): string => (isUuid(text) ? text : nilUuid);
