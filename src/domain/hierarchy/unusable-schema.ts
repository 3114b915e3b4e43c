/** Why a JSON Schema cannot be used, in words for its author. */
export class UnusableSchema extends Error {}
