import { RvmError } from '../error';
import { maskedStart } from './secret-mask';

/** Shorter ones may be ordinary words of our own sentences. */
const SHORTEST = 8;

/**
 * An error as it may be told. It may quote what the service calls a camera, a preset or a relation, and so a secret: then only its
 * code is told.
 */
export function fitToTell(error: RvmError, secrets: readonly string[]): RvmError {
  const { code, message, cause } = error;
  const sought = secrets.filter((secret) => secret.length >= SHORTEST);
  if (maskedStart(message, sought, Infinity) === message) return error;
  return new RvmError(
    code,
    `The text of this error held one of your secrets, so it is not shown: look up its code, ${code}.`,
    cause,
  );
}
