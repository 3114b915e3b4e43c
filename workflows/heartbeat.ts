/**
 * For steps that may take longer than this: their worker says every few seconds that it lives (`settled`), and after this
 * long without a word another one takes over, however long the step may still have taken.
 */
export const heartbeatTimeout = '15s';
