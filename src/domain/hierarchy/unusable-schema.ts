/** Why a JSON Schema cannot be used, in words for whoever wrote it. */
export class UnusableSchema extends Error {}
