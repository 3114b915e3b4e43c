import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it was exported. */
export interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for the root of a trace. */
  parentSpanId: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  isError: boolean;
  startedAt: number;
  endedAt: number;
}

type Value = Record<string, unknown>;
interface Attribute {
  key: string;
  value: Value;
}
/** The part of OTLP's JSON that tests read. */
interface Exported {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        attributes?: Attribute[];
        links?: { traceId: string; spanId: string }[];
        status?: { code?: number };
        startTimeUnixNano: string;
        endTimeUnixNano: string;
      }[];
    }[];
  }[];
}

/** Receives spans by OTLP over HTTP in JSON and keeps them; of requests in other formats it only notes the arrival. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; type: string; headers: Record<string, unknown>; text: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const type = request.headers['content-type'] ?? '';
    requests.push({ path: request.url ?? '', type, headers: request.headers, text });
    if (type.includes('json')) spans.push(...spansOf(JSON.parse(text)));
    response.writeHead(200, { 'content-type': type }).end(type.includes('json') ? '{}' : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    async stop(): Promise<void> {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const plain = (attributes: Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const spansOf = ({ resourceSpans }: Exported): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(plain(resource.attributes)['service.name']),
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        attributes: plain(span.attributes),
        links: span.links ?? [],
        isError: span.status?.code === 2,
        startedAt: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
        endedAt: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
      })),
  );

/**
 * Returns a trace as text, each span below its parent with its milliseconds: for people, and for tests of its shape.
 */
export function treeOf(spans: readonly ReceivedSpan[], line = timed): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: string | null, depth: number): string[] =>
    spans
      .filter(({ parentSpanId }) => (parent === null ? !ids.has(parentSpanId) : parentSpanId === parent))
      .sort((a, b) => a.startedAt - b.startedAt)
      .flatMap((span) => [`${'  '.repeat(depth)}${line(span)}`, ...below(span.spanId, depth + 1)]);
  return below(null, 0).join('\n');
}

const timed = ({ service, name, startedAt, endedAt }: ReceivedSpan) =>
  `${name}  (${service}, ${(endedAt - startedAt).toFixed(1)} ms)`;
