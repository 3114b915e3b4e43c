/**
 * Returns a request's target as routes match it, without the origin that some proxies put before it: a server has to
 * accept the absolute form (RFC 9112 §3.2.2), and this service already knows its own origin.
 */
export const originForm = (target: string): string => target.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
