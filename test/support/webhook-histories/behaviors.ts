import type { ServerResponse } from 'node:http';
import { days } from '../../../src/platform/clock.js';

/** How a receiver answers, and what the documentation makes of it (docs/webhooks.md, "Attempts"). */
export interface Behavior {
  name: string;
  /** Null: there is no answer, and `error` says why. */
  status: number | null;
  error: string | null;
  /** The time before which there must be no retry, in milliseconds from the answer. */
  asksMs: number;
  /** What the attempt shows of an answer from a public address. */
  excerpt: RegExp | null;
  /** Whether it is waited for in vain. */
  isSilent?: true;
  /** Whether the answer comes when the test says so. */
  isLate?: true;
  answer(response: ServerResponse): unknown;
}

const day = days(1);
type Body = (response: ServerResponse) => unknown;
const ends =
  (text = ''): Body =>
  (response) =>
    response.end(text);

const answering = (status: number, more: Partial<Behavior> = {}, headers = {}, body: Body = ends()): Behavior => ({
  name: `${status}`,
  status,
  error: null,
  asksMs: 0,
  excerpt: /^$/,
  answer: (response) => body(response.writeHead(status, headers)),
  ...more,
});

export const failing = (
  error: string,
  name: string,
  answer: Body = () => undefined,
  more: Partial<Behavior> = {},
): Behavior => ({
  ...{ name, error, answer, status: null, asksMs: 0, excerpt: null },
  ...more,
});

/** Repeats something until the connection is cut. */
const bitByBit = (response: ServerResponse, send: () => unknown) => {
  const timer = setInterval(send, 20);
  response.socket?.once('close', () => clearInterval(timer));
};

/** A letter, and so many of two bytes that the first KiB ends within one. */
const umlauts = `a${'é'.repeat(4000)}`;

export const accepting: readonly Behavior[] = [
  answering(204),
  answering(200, { name: '200 long', excerpt: /^x{1024}$/ }, {}, ends('x'.repeat(500_000))),
  answering(201, { name: '201 umlauts', excerpt: /^aé{511}$/ }, {}, ends(umlauts)),
  answering(299, { name: '299 with a zero', excerpt: /^b\ufffdc$/ }, {}, ends('b\0c')),
  answering(202, { name: '202 bit by bit', excerpt: /^z*$/ }, {}, (response) => {
    bitByBit(response, () => response.write('z'));
  }),
  answering(200, {
    name: '200 after 103',
    answer(response) {
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      response.writeHead(200).end();
    },
  }),
];

/** A redirect must not be followed. @param trap where it leads */
export const redirecting = (trap: string): Behavior[] =>
  [301, 302, 303, 307, 308].map((status) => answering(status, {}, { location: trap }));

const inAnHour = (form: (date: Date) => string) => () => form(new Date(Date.now() + day / 24));
/** RFC 9110 §5.6.7: the usual form of a date, and two that a recipient has to understand, too. */
const imfDate = (date: Date) => date.toUTCString();
const rfc850Date = (date: Date) => {
  const [, dayOfMonth, month, year = '', time] = date.toUTCString().split(' ');
  const weekday = date.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  return `${weekday}, ${dayOfMonth}-${month}-${year.slice(2)} ${time} GMT`;
};
const asctimeDate = (date: Date) => {
  const [weekday = '', dayOfMonth, month, year, time] = date.toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${String(Number(dayOfMonth)).padStart(2)} ${time} ${year}`;
};

/** What a `Retry-After` says, and what it asks for: up to a day. A date has whole seconds. */
const retryAfters: readonly [text: () => string, asksMs: number][] = [
  [() => '7200', day / 12],
  [() => '0', 0],
  [() => '3600', day / 24],
  [() => '90000', day],
  [() => '99999999999999999999', day],
  [inAnHour(imfDate), day / 24 - 1_000],
  [inAnHour(rfc850Date), day / 24 - 1_000],
  [inAnHour(asctimeDate), day / 24 - 1_000],
  [() => 'Fri, 31 Dec 9999 23:59:59 GMT', day],
  [() => 'Sat, 01 Jan 2000 00:00:00 GMT', 0],
  [() => 'soon', 0],
  [() => '-3600', 0],
  [() => '3600.5', 0],
  [() => '1e6', 0],
  [() => '', 0],
];

const askingForTime = [429, 503, 404, 500].flatMap((status) =>
  retryAfters.map(([text, asksMs]) => ({
    ...answering(status, { name: `${status} Retry-After`, asksMs }),
    answer: (response: ServerResponse) => response.writeHead(status, { 'retry-after': text() }).end(),
  })),
);

const unanswered: readonly Behavior[] = [
  failing('timeout', 'silent', () => undefined, { isSilent: true }),
  failing(
    'timeout',
    'a status bit by bit',
    (response) => {
      const text = [...`HTTP/1.1 200 ${'OK'.repeat(1000)}`];
      bitByBit(response, () => response.socket?.write(text.shift() ?? 'K'));
    },
    { isSilent: true },
  ),
  failing('closed', 'a reset', (response) => response.socket?.resetAndDestroy()),
  failing('closed', 'an end without an answer', (response) => response.socket?.end()),
  failing('malformed', 'no HTTP', (response) => response.socket?.end('Hello?\r\n\r\n')),
  failing('closed', 'another protocol', (response) =>
    response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n'),
  ),
];

const refusing = [400, 401, 404, 500, 503].map((status) =>
  answering(status, { excerpt: /^no$/ }, { 'content-type': 'text/plain' }, ends('no')),
);

export const gone: Behavior = answering(410);
/** Answers only what the test says, when it says so. */
export const late: Behavior = failing('timeout', 'late', () => undefined, { isLate: true });
export const lateAnswer = (status: number): Behavior => answering(status, { name: `late ${status}` });

/** Returns what a receiver may do, in kinds that are drawn equally often. @param trap where redirects lead */
export const kindsOfBehavior = (trap: string): readonly (readonly Behavior[])[] => [
  accepting,
  accepting,
  refusing,
  redirecting(trap),
  askingForTime,
  askingForTime,
  askingForTime,
  unanswered,
  unanswered,
  [gone],
];
