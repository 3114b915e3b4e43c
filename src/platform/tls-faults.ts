/** Whether a code of Node says that the other side's certificate, or its TLS, is not what it has to be; `UNSPECIFIED` is what it has no name for, such as SHA-1. */
export const isTlsFault = (code: string): boolean => tlsFaults.test(code);

const tlsFaults =
  /^(CERT_.*|CRL_.*|ERROR_IN_C.*|ERR_(TLS|SSL|OSSL)_.*|(DEPTH_ZERO_)?SELF_SIGNED_CERT.*|UNABLE_TO_.*|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNSPECIFIED|EPROTO)$/;
