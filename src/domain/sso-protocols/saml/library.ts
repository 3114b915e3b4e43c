/** The library, loaded with the first message that it writes or verifies: 0.1 s that only a process that meets SAML has to pay. */
export const loadLibrary = () => import('@node-saml/node-saml');
