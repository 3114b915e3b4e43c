/**
 * Whether a Node error code says that the other side's certificate or TLS is unacceptable. `UNSPECIFIED` stands for
 * faults without a code of their own, such as SHA-1.
 */
export const isTlsFault = (code: string): boolean => tlsFaults.test(code);

const tlsFaults =
  /^(CERT_.*|CRL_.*|ERROR_IN_C.*|ERR_(TLS|SSL|OSSL)_.*|(DEPTH_ZERO_)?SELF_SIGNED_CERT.*|UNABLE_TO_.*|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNSPECIFIED|EPROTO)$/;
