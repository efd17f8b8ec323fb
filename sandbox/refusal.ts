/** An error answer to a request: HTTP status, a code for programs, one sentence for people. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** The invalid field of the request, if a single field is the cause. */
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

/** A malformed request: 400. */
export function badRequest(message: string, field?: string): Refusal {
  return new Refusal(400, 'InvalidValue', message, field === undefined ? {} : { field });
}
