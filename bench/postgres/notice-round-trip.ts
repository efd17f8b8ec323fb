import { Client } from 'pg';

const CHANNEL = 'bench';

/** The least that takes news from one instance to another: a `NOTIFY` on one connection, heard on another. */
export class NoticeRoundTrip {
  #heard: () => void = () => undefined;

  private constructor(
    private readonly teller: Client,
    private readonly listener: Client,
  ) {
    listener.on('notification', () => this.#heard());
  }

  static async open(url: string): Promise<NoticeRoundTrip> {
    const [teller, listener] = [new Client(url), new Client(url)];
    await Promise.all([teller.connect(), listener.connect()]);
    await listener.query(`LISTEN ${CHANNEL}`);
    return new NoticeRoundTrip(teller, listener);
  }

  /** From sending one until it is heard, in milliseconds. */
  async milliseconds(): Promise<number> {
    const heard = new Promise<number>((resolve) => (this.#heard = () => resolve(performance.now())));
    const from = performance.now();
    const told = this.teller.query(`NOTIFY ${CHANNEL}`);
    const [until] = await Promise.all([heard, told]);
    return until - from;
  }

  async close(): Promise<void> {
    await Promise.all([this.teller.end(), this.listener.end()]);
  }
}
