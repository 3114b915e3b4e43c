/**
 * What a request asks for as every route has it: without the origin that some proxies put before it. A server takes the absolute
 * form (RFC 9112 §3.2.2), and whose service it is, is known.
 */
export const originForm = (target: string): string => target.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
