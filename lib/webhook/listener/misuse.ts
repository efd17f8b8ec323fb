const FIRST_BYTE_OF_TLS = 0x16;
const HTTP2_PREFACE = 'PRI * HTTP/2';

/**
 * What somebody tried who speaks another protocol than the server, as a sentence for the log; undefined for all else,
 * such as broken HTTP.
 * @param code of the error that Node gave for it
 * @param bytes in which its HTTP parser found the fault
 */
export function misuseOf(code: string, bytes: Buffer | undefined): string | undefined {
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return 'A connection spoke plain HTTP to a listener with TLS, and was closed: is the address registered with http://, or the listener meant to have no TLS?';
  if (code.startsWith('ERR_SSL_'))
    return `A connection did not agree on TLS, and was closed (${code}): if it was the service, it may not trust the certificate of the listener.`;
  if (bytes?.[0] === FIRST_BYTE_OF_TLS)
    return 'A connection spoke TLS to a listener without it, and was refused: is the address registered with https://? Then choose a TLS configuration in the listener.';
  if (bytes?.toString('latin1', 0, HTTP2_PREFACE.length) === HTTP2_PREFACE)
    return 'A connection spoke HTTP/2 without asking, and was refused: the listener speaks HTTP/1.1.';
  return undefined;
}
