import type { ConnectionOptions } from '@temporalio/client';

export interface TemporalServer {
  /** `host:port` of the frontend. */
  address: string;
  namespace: string;
  /** The API key of Temporal Cloud, which accepts it only over TLS. */
  apiKey: string | null;
  /** The TLS options; if absent, no TLS is used. */
  tls?: TemporalTls | null;
}

type TemporalTls = true | Exclude<ConnectionOptions['tls'], boolean | null | undefined>;

/** Returns TLS options: the authorities of the machine or one alone, and our client certificate; null: no TLS. */
export function tlsTo({
  isOn,
  serverCa,
  clientCert,
  clientKey,
}: Record<'serverCa' | 'clientCert' | 'clientKey', Buffer | undefined> & { isOn: boolean }): TemporalTls | null {
  const files = {
    ...(serverCa && { serverRootCACertificate: serverCa }),
    ...(clientCert && clientKey && { clientCertPair: { crt: clientCert, key: clientKey } }),
  };
  if (Object.keys(files).length > 0) return files;
  return isOn || null;
}

/** Returns the credentials for Temporal, for clients and workers alike. */
export const credentialsOf = ({ apiKey, tls }: Pick<TemporalServer, 'apiKey' | 'tls'>) => ({
  ...(apiKey && { apiKey }),
  ...(tls && { tls }),
});

/** Returns how clients connect. After an outage they retry every few seconds; gRPC's own default is two minutes. */
export const connectionOptions = (server: Omit<TemporalServer, 'namespace'>): ConnectionOptions => ({
  address: server.address,
  ...credentialsOf(server),
  connectTimeout: '5s',
  // The client's own retries outlive a call's deadline; if the channel closes meanwhile, nobody catches their error.
  interceptors: [],
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 3_000 },
});
