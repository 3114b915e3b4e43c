/** The library, loaded with the first message that it writes: 0.1 s that only a process that meets SAML has to pay. */
export const loadLibrary = () => import('@node-saml/node-saml');
/** What verifies signatures under it; likewise. */
export const loadSignatures = () => import('xml-crypto');
