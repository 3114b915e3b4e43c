import { isTlsFault } from '../tls-faults.js';

const texts = {
  address: 'the address is not a public one',
  host: "the host is not on this installation's list of hosts that are called",
  scheme: 'only https is called',
  size: 'the answer is too long',
  timeout: 'no answer in time',
  name: 'the host name cannot be resolved',
  refused: 'the connection was refused',
  closed: 'the connection was closed before an answer',
  malformed: 'the answer is no valid HTTP, or its headers are too long',
  tls: 'no trusted TLS connection could be made',
  unreachable: 'the host cannot be reached',
} as const;
export type OutboundReason = keyof typeof texts;

/** Why a call failed. The text names no address, since it may be shown to the person who gave the URL. */
export class OutboundError extends Error {
  constructor(
    readonly reason: OutboundReason,
    cause?: unknown,
  ) {
    super(texts[reason], { cause });
  }
}

const reasons: Record<string, OutboundReason> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  UND_ERR_SOCKET: 'closed',
  ETIMEDOUT: 'timeout',
  ETIMEOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'malformed',
};

/** Returns what a network failure means to the person who gave the URL. */
export function asOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const { cause, code, name, syscall, errors } = error as NodeJS.ErrnoException & {
    cause?: unknown;
    errors?: unknown[];
  };
  if (cause instanceof OutboundError) return cause;
  if (name === 'TimeoutError') return new OutboundError('timeout', error);
  if (syscall === 'getaddrinfo' || syscall?.startsWith('query')) return new OutboundError('name', error);
  const known = reasons[code ?? ''];
  if (known) return new OutboundError(known, error);
  if (name === 'HTTPParserError' || /^HPE_/.test(code ?? '')) return new OutboundError('malformed', error); // undici's, and Node's
  if (isTlsFault(code ?? '')) return new OutboundError('tls', error);
  // Several addresses were tried: the last one's failure represents all.
  if (errors?.length) return asOutboundError(errors.at(-1));
  return new OutboundError('unreachable', error);
}
