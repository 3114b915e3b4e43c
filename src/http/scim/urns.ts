/** Returns the URN of a core schema (RFC 7643 §10.3). */
export const coreSchema = (name: string): string => `urn:ietf:params:scim:schemas:core:2.0:${name}`;

/** Returns the URN of a message (RFC 7644 §8.2). */
export const messageSchema = (name: string): string => `urn:ietf:params:scim:api:messages:2.0:${name}`;
