import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { seconds } from '../clock.js';
import { asOutboundError, OutboundError } from './errors.js';
import type { Guard } from './guard.js';

export interface OutboundPost {
  headers: Record<string, string>;
  body: string;
}

export interface PostAnswer {
  status: number;
  /** The header as received. */
  retryAfter: string | null;
  /** The first KiB as text; null if the address is not public, and was only called because the operator allows it. */
  excerpt: string | null;
}

/** Milliseconds from the look-up of the name to the status, and from the status to the end of the excerpt. */
export interface PostLimits {
  answerWithinMs: number;
  excerptWithinMs: number;
}

const postLimits: PostLimits = { answerWithinMs: seconds(15), excerptWithinMs: seconds(2) };
const excerptBytes = 1024;

/**
 * Sends one POST on a connection of its own, so a receiver's behavior affects no other call. The status counts as soon
 * as it arrives; of the body the first KiB is read, then the connection is cut.
 * @throws OutboundError
 */
export async function post(guard: Guard, url: string, { headers, body }: OutboundPost, limits = postLimits) {
  const { target, literal } = guard.enter(url);
  let isPublic = literal !== null && guard.isPublic(literal);
  const calling = (target.protocol === 'https:' ? request : plainRequest)(target, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    lookup: guard.lookup(target.protocol, (addresses) => {
      isPublic = addresses.every(({ address }) => guard.isPublic(address));
    }),
  });
  const late = setTimeout(() => calling.destroy(new OutboundError('timeout')), limits.answerWithinMs);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      calling.once('response', resolve);
      calling.on('error', reject); // not `once`: cutting the connection after the answer must not raise an error
      // When a receiver switches protocols unasked, Node closes the connection with neither a response nor an error.
      calling.once('close', () => reject(new OutboundError('closed')));
      calling.end(body);
    });
    clearTimeout(late);
    const answer: PostAnswer = {
      status: response.statusCode as number,
      retryAfter: response.headers['retry-after'] ?? null,
      excerpt: isPublic ? await beginningOf(response, limits.excerptWithinMs) : null,
    };
    return answer;
  } catch (error) {
    throw asOutboundError(error);
  } finally {
    clearTimeout(late);
    calling.destroy();
  }
}

/** Returns what has arrived of the body within `withinMs`, as text that PostgreSQL can store. */
async function beginningOf(response: IncomingMessage, withinMs: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => response.destroy(), withinMs);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= excerptBytes) break;
    }
  } catch {
    // An answer that breaks off is still an answer.
  } finally {
    clearTimeout(late);
  }
  // `stream` omits a last character that the limit has split.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, excerptBytes), { stream: true });
  return text.replaceAll('\0', '\ufffd');
}
