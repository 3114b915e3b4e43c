import type { ConnectionOptions } from '@temporalio/client';

export interface TemporalServer {
  /** `host:port` of the frontend. */
  address: string;
  namespace: string;
  /** Of Temporal Cloud; switches TLS on. */
  apiKey: string | null;
}

/** How clients connect. After an outage the channel looks again every few seconds; gRPC's own default is two minutes. */
export const connectionOptions = ({
  address,
  apiKey,
}: Pick<TemporalServer, 'address' | 'apiKey'>): ConnectionOptions => ({
  address,
  ...(apiKey && { apiKey, tls: true }),
  connectTimeout: '5s',
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 3_000 },
});
