/** An expected obstacle to a start, whose message is all that an operator needs. */
export class StartError extends Error {}
