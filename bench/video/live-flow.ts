import { cloud, station } from '../../test/support/node-red/flows';
import { entrance, probe, type FlowNode } from '../../test/support/node-red/node-red';
import { caller, type StationFlow } from '../../test/support/node-red/station-flow';
import { functionNode, TAB } from '../counting-node-red';

/** Where the page is whose every viewer has an ffmpeg. */
export const BY_HAND = '/by-hand';

/** What ffmpeg is told to do for each viewer. */
const COPY = ['-c', 'copy', '-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov+default_base_moof', 'pipe:1'];

/** A player as one writes it: what comes is appended, and the playhead jumps to where it ends. */
const PLAYER = `const video = document.querySelector('video');
document.querySelector('button').onclick = async () => {
  const source = new MediaSource();
  video.src = URL.createObjectURL(source);
  await new Promise((resolve) => source.addEventListener('sourceopen', resolve, { once: true }));
  const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.42C01E"');
  const reader = (await fetch('${BY_HAND}/stream')).body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    buffer.appendBuffer(read.value);
    await new Promise((resolve) => buffer.addEventListener('updateend', resolve, { once: true }));
    if (video.buffered.length === 0) continue;
    const end = video.buffered.end(video.buffered.length - 1);
    if (end - video.currentTime > 1) video.currentTime = end - 0.1;
    if (video.paused) video.play();
  }
};`;
const PAGE = `<!doctype html><video muted playsinline></video><button>play</button><script>${PLAYER}</script>`;

/** A flow with the address of a live view of the camera, and a flow with a page that shows the same by ffmpeg. */
export function liveFlow({ sandbox, credentials }: StationFlow, camera: string): FlowNode[] {
  const live = { mode: 'live', camera, cameraType: 'str' };
  return [
    TAB,
    cloud({ url: sandbox.url, localRelays: true, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials }),
    ...entrance('ask', 'view'),
    caller('rvm-view', { id: 'view', ...live, live: true, wires: [['link'], ['link']] }),
    probe('link'),
    httpIn('page', BY_HAND, 'show'),
    functionNode('show', `msg.payload = ${JSON.stringify(PAGE)};\nreturn msg;`, { wires: [['answer']] }),
    {
      id: 'answer',
      type: 'http response',
      z: 'tab',
      statusCode: '',
      headers: { 'content-type': 'text/html' },
      wires: [],
    },
    httpIn('stream', `${BY_HAND}/stream`, 'address'),
    caller('rvm-get-rtsp', { id: 'address', ...live, wires: [['copy'], []] }),
    functionNode('copy', copying(), { libs: [{ var: 'childProcess', module: 'child_process' }] }),
  ];
}

function httpIn(id: string, url: string, target: string): FlowNode {
  return { id, type: 'http in', z: 'tab', url, method: 'get', wires: [[target]] };
}

function copying(): string {
  return `const input = ['-v', 'error', '-nostdin', '-rtsp_transport', 'tcp', '-i', msg.payload];
const child = childProcess.spawn('ffmpeg', [...input, ...${JSON.stringify(COPY)}]);
const res = msg.res._res;
res.writeHead(200, { 'Content-Type': 'video/mp4' });
child.stdout.pipe(res);
res.on('close', () => child.kill('SIGKILL'));`;
}
