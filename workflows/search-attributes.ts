import { defineSearchAttributeKey } from '@temporalio/common';

/** The Account that a process belongs to, once there is one. */
export const accountIdKey = defineSearchAttributeKey('GatehouseAccountId', 'KEYWORD');
export const environmentIdKey = defineSearchAttributeKey('GatehouseEnvironmentId', 'KEYWORD');
/** What the process is about, so that everything that happened to one registration is one search. */
export const subjectIdKey = defineSearchAttributeKey('GatehouseSubjectId', 'KEYWORD');
/** What it waits for, or how it ended: the workflow's own word, as its query `state` answers it. */
export const stateKey = defineSearchAttributeKey('GatehouseState', 'KEYWORD');

/** Name and type of each, as a Temporal server is told of them. Ids and states only: they are plain text there. */
export const searchAttributes: Record<string, 'Keyword'> = {
  [accountIdKey.name]: 'Keyword',
  [environmentIdKey.name]: 'Keyword',
  [subjectIdKey.name]: 'Keyword',
  [stateKey.name]: 'Keyword',
};
