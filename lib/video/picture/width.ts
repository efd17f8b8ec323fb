import { RvmError } from '../../error';
import { NARROWEST_PICTURE, WIDEST_PICTURE } from '../../limits';

/**
 * The width that a user wants a picture to have at most.
 * @returns pixels; undefined for nothing or an empty text: as wide as the video
 * @throws RvmError BAD_INPUT for anything else than a whole number within the bounds
 */
export function pictureWidthIn(value: unknown): number | undefined {
  if (value === undefined || value === null || (typeof value === 'string' && value.trim() === ''))
    return undefined;
  const width = typeof value === 'string' && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  if (Number.isInteger(width) && Number(width) >= NARROWEST_PICTURE && Number(width) <= WIDEST_PICTURE)
    return Number(width);
  throw new RvmError(
    'BAD_INPUT',
    `The width of a picture must be a whole number from ${NARROWEST_PICTURE} to ${WIDEST_PICTURE}, or empty for the width of the video.`,
  );
}
