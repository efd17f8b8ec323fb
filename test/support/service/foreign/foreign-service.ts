/** A field of a JSON body. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null
    ? Object.entries(body).find(([key]) => key === name)?.[1]
    : undefined;
}

/**
 * The cookies of one session at a time: all of them are needed, none other may come, and each answer brings new
 * values that make the old ones invalid.
 */
export class Cookies {
  readonly #attributes: Readonly<Record<string, string>>;
  readonly #others: readonly string[];
  #values: ReadonlyMap<string, string> = new Map();
  #turn = 0;

  /**
   * @param attributes what follows the value, by the name of the cookie
   * @param others complete `Set-Cookie` values of cookies that must not come back, as their attributes say
   */
  constructor(attributes: Readonly<Record<string, string>>, others: readonly string[]) {
    this.#attributes = attributes;
    this.#others = others;
  }

  /** The `Set-Cookie` values of an answer; from now on only these are accepted. */
  next(): string[] {
    this.#turn += 1;
    this.#values = new Map(
      Object.keys(this.#attributes).map((name, place) => [name, `turn-${this.#turn}.${place}`]),
    );
    const own = [...this.#values].map(([name, value]) => `${name}=${value}${this.#attributes[name] ?? ''}`);
    return [...own, ...this.#others];
  }

  accepts(header: string | undefined): boolean {
    if (header === undefined || this.#values.size === 0) return false;
    const sent = header.split('; ');
    const wanted = [...this.#values].map(([name, value]) => `${name}=${value}`);
    return sent.length === wanted.length && wanted.every((pair) => sent.includes(pair));
  }

  forget(): void {
    this.#values = new Map();
  }
}

/** A picture of one grey dot is more than any test looks at: a JPEG begins with FF D8 and ends with FF D9. */
export const JPEG = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffdb004300' + '10'.repeat(64) + 'ffc0000b080001000101011100ffd9',
  'hex',
);

/** When the pictures of the foreign services were taken. */
export const PICTURE_TIME = '2026-11-21T09:59:58.250Z';

/** A body of the type `multipart/mixed`, its pictures each with a `Time:` line. */
export function multipart(boundary: string, pictures: readonly { jpeg: Buffer; time: string }[]): Buffer {
  const parts = pictures.flatMap(({ jpeg, time }) => [
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: image/jpeg\r\nTime: ${time}\r\nContent-Length: ${jpeg.length}\r\n\r\n`,
    ),
    jpeg,
  ]);
  return Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}
