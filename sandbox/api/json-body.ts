import { badRequest } from '../refusal';

/** The JSON object in a request's body; an empty body counts as an empty object. @throws Refusal 400 */
export function jsonBody(body: Buffer): Readonly<Record<string, unknown>> {
  if (body.length === 0) return {};
  const value = parse(body.toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('The body must be a JSON object.');
  }
  return { ...value };
}

/** A text that must be there. @throws Refusal 400 */
export function requiredText(body: Readonly<Record<string, unknown>>, field: string): string {
  const value = optionalText(body, field);
  if (value === undefined || value === '') throw badRequest(`${field} is missing.`, field);
  return value;
}

/** A text, or undefined where the field is absent or null. @throws Refusal 400 for any other type */
export function optionalText(body: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw badRequest(`${field} must be a text.`, field);
  return value;
}

/** A number within bounds, or undefined where the field is absent or null. @throws Refusal 400 */
export function optionalNumber(
  body: Readonly<Record<string, unknown>>,
  field: string,
  bounds: { low: number; high: number; whole?: boolean },
): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  const kind = bounds.whole === true ? 'whole number' : 'number';
  const fits = typeof value === 'number' && value >= bounds.low && value <= bounds.high;
  if (!fits || (bounds.whole === true && !Number.isInteger(value))) {
    throw badRequest(`${field} must be a ${kind} from ${bounds.low} to ${bounds.high}.`, field);
  }
  return value;
}

/** A field that the call does not know is most likely a slip of the pen. @throws Refusal 400 */
export function onlyFields(body: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const unknown = Object.keys(body).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw badRequest(`${unknown} is not known here; known are ${known.join(', ')}.`, unknown);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('The body is not JSON.');
  }
}
