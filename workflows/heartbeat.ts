/**
 * For steps that may take longer than this: their worker sends a heartbeat every few seconds (`settled`), and after
 * this long without one another worker takes over, however much time the step has left.
 */
export const heartbeatTimeout = '15s';
