/** One attempt to have a request answered, and how far it came. Redirects are part of it. */
export class Attempt {
  /** Counted from 1. */
  readonly number: number;
  /** Whether a connection has taken it: before that the service cannot have carried it out. */
  isSent = false;
  /** Whether the head of an answer has come. */
  isAnswered = false;
  /** The cookies of the session when it went out, as one text. */
  cookies = '';
  /** Whether its answer has changed the cookies of the session. */
  hasChangedCookies = false;

  constructor(number = 1) {
    this.number = number;
  }

  /** It is about to go out, perhaps once more. */
  begin(cookies: string): void {
    this.isSent = false;
    this.isAnswered = false;
    this.cookies = cookies;
  }
}
