import { RvmError } from '../../error';
import type { Ended } from './child';

/** What a program that cannot decode this video says, in the words of all its versions. */
const NO_DECODER =
  /Decoder \(codec [\w-]+\) not found|Unknown decoder|Unknown input format|no decoder found/i;
/** Why the system starts no program: it is not there any more, or not what it was. */
const GONE = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOEXEC', 'ENOTDIR', 'EINVAL', 'UNKNOWN']);

/** @param path what the user has set */
export function decoderMissing(path: string | undefined): RvmError {
  return new RvmError(
    'DECODER_MISSING',
    path === undefined
      ? 'There is no ffmpeg to make the picture: install it (apt install ffmpeg, winget install ffmpeg, brew install ffmpeg), or name its file as rvmFfmpeg in settings.js.'
      : 'The file that rvmFfmpeg in settings.js names is no ffmpeg that runs: correct it, or remove it to use the ffmpeg on the PATH.',
  );
}

/** @returns whether a program that was found cannot be started any more, by what the system says */
export function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code !== undefined && GONE.has(error.code);
}

export function notStarted({ code }: NodeJS.ErrnoException): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    `The system could not start ffmpeg for the picture (${code ?? 'unknown fault'}): this machine may have too little memory, or too much to do.`,
  );
}

export function noKeyFrame(): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    'The video has no key frame, so no picture of it can be made: try again, or ask for another time.',
  );
}

/** Of a program that ended without a picture. @param seconds that it had */
export function noPicture({ how, complaint }: Ended, seconds: number): RvmError {
  if (how === 'too slow')
    return failed(
      `ffmpeg had not made the picture after ${seconds} seconds: this machine has too much to do.`,
    );
  if (how === 'too much output')
    return failed('ffmpeg gave more than a picture can have: try again, or ask for a smaller width.');
  if (NO_DECODER.test(complaint))
    return new RvmError(
      'DECODER_MISSING',
      'This ffmpeg cannot decode the video of this camera: install one with decoders for H.264 and H.265.',
    );
  return failed(
    'ffmpeg made no picture of the video, which may be damaged: try again, or ask for another time.',
  );
}

function failed(message: string): RvmError {
  return new RvmError('VIDEO_FAILED', message);
}
