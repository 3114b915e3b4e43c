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
  // The client's own retries outlive a call's deadline, and throw into the void when the channel is closed meanwhile.
  interceptors: [],
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 3_000 },
});
