import type { NodeAPI } from 'node-red';
import type { Decoder } from '../../lib/video/picture/decoder';

type DecoderModule = typeof import('../../lib/video/picture/decoder');

/** Makes pictures with the ffmpeg that `rvmFfmpeg` of settings.js names, else with that on the PATH. */
export function newDecoder(RED: NodeAPI): Decoder {
  // Loaded here and not above: most flows make no pictures of video.
  const { Decoder } = require('../../lib/video/picture/decoder') as DecoderModule;
  const path: unknown = RED.settings.get('rvmFfmpeg');
  return new Decoder(typeof path === 'string' && path !== '' ? { path } : {});
}
