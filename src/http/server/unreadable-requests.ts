import { STATUS_CODES } from 'node:http';
import type { FastifyServerOptions } from 'fastify';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import { httpStatusOf } from '../error-statuses.js';
import { envelope } from '../errors.js';
import { newRequestId } from './request-ids.js';

/** The codes for some errors of Node's parser; any other is `request.malformed`. */
const codes: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timed_out',
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
};

/**
 * Answers bytes that are no HTTP request with the usual error envelope, and ends the connection: nobody knows where the
 * next request begins. Method and path are unknown, too. Nothing is logged, since Node's error contains the bytes.
 */
export const answerUnreadable: NonNullable<FastifyServerOptions['clientErrorHandler']> = (error, socket) => {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const refusal = new DomainError(codes[error.code] ?? 'request.malformed');
  const status = httpStatusOf(refusal.code);
  const body = JSON.stringify(envelope({ method: '', path: '' }, refusal));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${newRequestId()}`,
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};
