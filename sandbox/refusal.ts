/** An answer that refuses a request: status, a code for programs, one sentence for people. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** The field of the request that is wrong, where it is one. */
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    details: { field?: string; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = details.field;
    this.headers = details.headers ?? {};
  }
}

/** A request of a wrong form: 400. */
export function badRequest(message: string, field?: string): Refusal {
  return new Refusal(400, 'InvalidValue', message, field === undefined ? {} : { field });
}
