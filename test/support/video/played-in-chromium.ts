import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestBrowser } from '../editor/browser';
import { PATIENCE } from '../time/patience';

/** What a video element of the page came to. */
export interface Played {
  width: number;
  /** Where it is, in seconds, at its end. */
  time: number;
  /** Parts that it has, in seconds. */
  buffered: [begin: number, end: number][];
  /** What it complains about; empty where all is well. */
  error: string;
  /** Bytes of sound that were decoded. */
  soundBytes: number;
}

const PLAY = `
const video = document.querySelector('video');
video.defaultPlaybackRate = 4;
const told = () => ({
  width: video.videoWidth,
  time: video.currentTime,
  buffered: Array.from({ length: video.buffered.length }, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
  error: video.error?.message ?? '',
  soundBytes: video.webkitAudioDecodedByteCount,
});
const ended = new Promise((resolve) => {
  for (const name of ['ended', 'error']) video.addEventListener(name, () => resolve(told()));
});
window.playFile = () => { video.src = 'clip'; void video.play(); return ended; };
window.playPieces = async (type, count) => {
  const source = new MediaSource();
  video.src = URL.createObjectURL(source);
  await new Promise((resolve) => source.addEventListener('sourceopen', resolve));
  const buffer = source.addSourceBuffer(type);
  for (let piece = 0; piece < count; piece += 1) {
    buffer.appendBuffer(await (await fetch('piece/' + piece)).arrayBuffer());
    await new Promise((resolve) => buffer.addEventListener('updateend', resolve, { once: true }));
  }
  source.endOfStream();
  video.currentTime = video.buffered.start(0);
  void video.play();
  return ended;
};`;

/** Plays a clip as a video element does that has its address. */
export function playFile(browser: TestBrowser, clip: Buffer): Promise<Played> {
  return play(browser, [clip], 'playFile()');
}

/** Plays pieces by Media Source Extensions, each given once the one before is taken. */
export function playPieces(browser: TestBrowser, type: string, pieces: readonly Buffer[]): Promise<Played> {
  return play(browser, pieces, `playPieces(${JSON.stringify(type)}, ${pieces.length})`);
}

async function play(browser: TestBrowser, pieces: readonly Buffer[], call: string): Promise<Played> {
  const server = http.createServer((req, res) => answer(req, res, pieces));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const page = await browser.newPage();
  try {
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`http://127.0.0.1:${port}/`);
    return (await page.evaluate(call)) as Played;
  } finally {
    await page.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function answer(req: http.IncomingMessage, res: http.ServerResponse, pieces: readonly Buffer[]): void {
  if (req.url === '/') {
    res.setHeader('Content-Type', 'text/html');
    res.end(`<!doctype html><video muted></video><script>${PLAY}</script>`);
    return;
  }
  const piece = pieces[Number(/^\/piece\/(\d+)$/.exec(req.url ?? '')?.[1] ?? 0)];
  res.setHeader('Content-Type', 'video/mp4');
  res.end(piece);
}
