import { defineSearchAttributeKey } from '@temporalio/common';

/** The Account to which a process belongs, once it exists. */
export const accountIdKey = defineSearchAttributeKey('GatehouseAccountId', 'KEYWORD');
export const environmentIdKey = defineSearchAttributeKey('GatehouseEnvironmentId', 'KEYWORD');
/** What the process is about, so that everything that happened to one registration is one search. */
export const subjectIdKey = defineSearchAttributeKey('GatehouseSubjectId', 'KEYWORD');
/** What the process waits for, or how it ended; the same as the result of its query `state`. */
export const stateKey = defineSearchAttributeKey('GatehouseState', 'KEYWORD');

/** Name and type of each, for registering them at a Temporal server. Ids and states only: they are plain text there. */
export const searchAttributes: Record<string, 'Keyword'> = {
  [accountIdKey.name]: 'Keyword',
  [environmentIdKey.name]: 'Keyword',
  [subjectIdKey.name]: 'Keyword',
  [stateKey.name]: 'Keyword',
};
