import { counted } from '../../text';
import { RvmError } from '../../error';
import { FARTHEST_OFFSET_S, MOST_OFFSETS } from '../../limits';

/** Seconds with a sign and a decimal point, and nothing that only a program would write, such as `1e3`. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)$/;
const EXAMPLE = 'write one such as 0, or several such as -3, 0, 3';

/**
 * The times that a user wants pictures of: a number, or numbers separated by commas.
 * @returns seconds relative to the start of the alarm, in the order in which they stand there; at least one
 * @throws RvmError BAD_INPUT
 */
export function offsetsIn(value: unknown): number[] {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') throw badOffsets(`The offsets are no text: ${EXAMPLE}.`);
  if (text.trim() === '') throw badOffsets(`There is no offset: ${EXAMPLE}.`);
  // One too many is enough to know, however long the text is.
  const parts = text.split(',', MOST_OFFSETS + 1);
  if (parts.length > MOST_OFFSETS)
    throw badOffsets(`There are more than ${counted(MOST_OFFSETS, 'offset')}: leave some out.`);
  return parts.map((part) => offsetIn(part.trim()));
}

function offsetIn(text: string): number {
  if (!NUMBER.test(text))
    throw badOffsets(`Each offset must be a number of seconds, separated by commas: ${EXAMPLE}.`);
  const offset = Number(text);
  if (Math.abs(offset) > FARTHEST_OFFSET_S)
    throw badOffsets(`Each offset must be from -${FARTHEST_OFFSET_S} to ${FARTHEST_OFFSET_S} seconds.`);
  // Not the zero with a sign, which some print.
  return offset === 0 ? 0 : offset;
}

function badOffsets(message: string): RvmError {
  return new RvmError('BAD_INPUT', message);
}
