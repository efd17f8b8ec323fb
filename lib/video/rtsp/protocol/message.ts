/** Headers of a message, by their names in small letters. */
export class HeaderFields {
  readonly #values = new Map<string, string[]>();

  add(name: string, value: string): void {
    const former = this.#values.get(name);
    if (former === undefined) this.#values.set(name, [value]);
    else former.push(value);
  }

  /** The first of that name. */
  get(name: string): string | undefined {
    return this.all(name)[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }
}

/** What a server answers to a request (RFC 2326, section 7). */
export interface Answer {
  kind: 'answer';
  status: number;
  headers: HeaderFields;
  body: string;
}

/** What a server asks of its own accord (RFC 2326, section 6). */
export interface ServerRequest {
  kind: 'request';
  method: string;
  headers: HeaderFields;
}

/** Binary data between messages (RFC 2326, section 10.12). */
export interface Packet {
  kind: 'packet';
  channel: number;
  data: Buffer;
}

export type Incoming = Answer | ServerRequest | Packet;
