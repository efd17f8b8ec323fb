/** RFC 2326, section 12.37. */
const DEFAULT_TIMEOUT = 60;
/** What we send back as it is. */
const ID = /^[\x21-\x3a\x3c-\x7e]{1,256}$/;

export interface SessionHeader {
  id: string;
  /** Seconds without a sign of life after which the server ends it. */
  timeout: number;
}

/** @returns undefined where it names no session */
export function sessionIn(header: string | undefined): SessionHeader | undefined {
  const [id = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  if (!ID.test(id)) return undefined;
  const timeout = parameters.map((text) => /^timeout\s*=\s*(\d{1,6})$/i.exec(text)?.[1]).find(Boolean);
  return { id, timeout: Number(timeout ?? 0) || DEFAULT_TIMEOUT };
}
