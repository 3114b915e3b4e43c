/** Loads the library with the first message that it writes, since the 0.1 s concern only processes that use SAML. */
export const loadLibrary = () => import('@node-saml/node-saml');
/** Loads the library that verifies signatures, with the first message that needs it. */
export const loadSignatures = () => import('xml-crypto');
