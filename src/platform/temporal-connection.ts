import type { ConnectionOptions } from '@temporalio/client';

export interface TemporalServer {
  /** `host:port` of the frontend. */
  address: string;
  namespace: string;
  /** Of Temporal Cloud, which takes it over TLS only. */
  apiKey: string | null;
  /** How TLS is spoken; without it, not at all. */
  tls?: TemporalTls | null;
}

type TemporalTls = true | Exclude<ConnectionOptions['tls'], boolean | null | undefined>;

/** TLS by the machine's own list of authorities, or by one authority alone, and as whom the service is known to Temporal. */
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

/** What is secret between the service and Temporal, for clients and workers alike. */
export const credentialsOf = ({ apiKey, tls }: Pick<TemporalServer, 'apiKey' | 'tls'>) => ({
  ...(apiKey && { apiKey }),
  ...(tls && { tls }),
});

/** How clients connect. After an outage the channel looks again every few seconds; gRPC's own default is two minutes. */
export const connectionOptions = (server: Omit<TemporalServer, 'namespace'>): ConnectionOptions => ({
  address: server.address,
  ...credentialsOf(server),
  connectTimeout: '5s',
  // The client's own retries outlive a call's deadline, and throw into the void when the channel is closed meanwhile.
  interceptors: [],
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 3_000 },
});
