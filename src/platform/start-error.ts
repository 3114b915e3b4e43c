/** An expected reason why a process cannot start; its message is all that an operator needs. */
export class StartError extends Error {}
