import { isUuid } from '../domain/uuid.js';

/** An id that nothing ever has: ids are UUIDs of version 7. */
const nobodys = '00000000-0000-0000-0000-000000000000';

/** What a path names by something that is no id is not there, and is answered like anything that is not (contract §10: 404 before 400). */
export const pathId = (text: string): string => (isUuid(text) ? text : nobodys);
