/** One answer, of which nothing but its status counts. */
export interface Answer {
  status: number;
  /** Bytes that it took, head and body. */
  length: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * The answer at the start of what a connection has sent; undefined until all of it is there.
 * @throws Error where it does not say how long it is: no server that is measured answers so
 */
export function answerIn(received: Buffer): Answer | undefined {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = received.toString('latin1', 0, headEnd);
  const body = LENGTH.exec(head)?.[1];
  if (body === undefined) throw new Error(`an answer without a length: ${head}`);
  const length = headEnd + HEAD_END.length + Number(body);
  return received.length < length ? undefined : { status: Number(head.slice(9, 12)), length };
}
