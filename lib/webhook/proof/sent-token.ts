import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { seemingToken, type TokenReading } from '../../message/body';

/**
 * Random, and of this process alone: what is made with it can be compared nowhere else. From bytes a key would be made anew with
 * each digest, which takes four times as long.
 */
const PROCESS_KEY = createSecretKey(randomBytes(32));

/**
 * The token of a message, as it seems. Read and hashed when that is first asked for, and once, however many phrases it is
 * compared with: a stranger may make it as long as the body.
 */
export class SentToken {
  #reading: TokenReading | undefined;
  #digest: Buffer | undefined;

  /** @param message `token`: what it was, where it stands in the body no more */
  constructor(private readonly message: { body: Uint8Array; token?: TokenReading }) {}

  get reading(): TokenReading {
    return (this.#reading ??= this.message.token ?? seemingToken(this.message.body));
  }

  /** Whether it is a text, which alone can be a phrase. */
  get isText(): boolean {
    return this.reading.kind === 'text';
  }

  /** Equality in a time that depends on neither, over digests, so that their lengths do not show. */
  is(phrase: string): boolean {
    this.#digest ??= digestOf(this.reading.text ?? '');
    return timingSafeEqual(this.#digest, digestOf(phrase)) && this.isText;
  }
}

function digestOf(text: string): Buffer {
  return createHmac('sha256', PROCESS_KEY).update(text, 'utf8').digest();
}
