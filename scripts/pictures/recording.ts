import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { CDPSession, Page } from 'playwright-core';
import { openEditor } from '../../test/support/editor/browser';
import { station, webhookIn } from '../../test/support/node-red/flows';
import type { FlowNode, NodeRed } from '../../test/support/node-red/node-red';
import { raiseAlarm, type ScreenshotBrowser, type Shoot } from './studio';

/** Name of the flow variable with `msg.webhook` of the last alarm, which *settle* needs. */
const WAITING = 'webhook';

/** Gets the picture of each alarm; each event waits until an operator presses the button `handled`. */
function settledByHand(): FlowNode[] {
  const kept = [{ t: 'set', p: WAITING, pt: 'flow', to: 'webhook', tot: 'msg' }];
  const given = [{ p: 'webhook', v: WAITING, vt: 'flow' }];
  const button = { props: given, repeat: '', crontab: '', once: false, onceDelay: 0.1, topic: '' };
  return [
    { id: 'tab', type: 'tab', label: 'Alarms' },
    { id: 'cloud', type: 'rvm-cloud', name: 'Sandbox', url: 'sandbox', sandboxEvents: 0, credentials: {} },
    station({ credentials: {} }),
    webhookIn({ handledWhen: 'settled', x: 110, y: 140, wires: [['picture', 'wait'], [], []] }),
    node('picture', 'rvm-get-picture', { x: 330, y: 80, wires: [['shown'], []] }),
    node('shown', 'debug', { name: 'picture', x: 510, y: 80 }),
    node('wait', 'change', { name: 'wait for somebody', x: 360, y: 140, rules: kept, wires: [[]] }),
    node('handled', 'inject', { name: 'handled', ...button, x: 120, y: 260, wires: [['settle']] }),
    node('settle', 'rvm-settle', { x: 320, y: 260, wires: [['settled'], []] }),
    node('settled', 'debug', { name: 'settled', x: 510, y: 260 }),
  ];
}

function node(id: string, type: string, properties: Record<string, unknown>): FlowNode {
  return { id, type, z: 'tab', name: '', ...properties };
}

/** Steps of one movement of the pointer, and milliseconds between two steps. */
const STEPS = 16;
const STEP_MS = 40;
/** Milliseconds for which the button is pressed. */
const PRESS_MS = 250;

/** A visible pointer, because a headless page shows none. */
class Pointer {
  #at = { x: 0, y: 0 };

  private constructor(private readonly page: Page) {}

  static async show(page: Page, x: number, y: number): Promise<Pointer> {
    await page.evaluate(DRAW);
    const pointer = new Pointer(page);
    await pointer.#moveTo(x, y);
    return pointer;
  }

  /** Moves to the centre of an element as a person does, and clicks. */
  async click(selector: string): Promise<void> {
    const box = await this.page.locator(selector).first().boundingBox();
    if (box === null) throw new Error(`${selector} is not to be seen.`);
    await this.#glideTo(box.x + box.width / 2, box.y + box.height / 2);
    await this.page.mouse.down();
    await delay(PRESS_MS);
    await this.page.mouse.up();
  }

  /** Moves slowly at both ends. */
  async #glideTo(x: number, y: number): Promise<void> {
    const from = this.#at;
    for (let step = 1; step <= STEPS; step += 1) {
      const part = (1 - Math.cos((Math.PI * step) / STEPS)) / 2;
      await this.#moveTo(from.x + (x - from.x) * part, from.y + (y - from.y) * part);
      await delay(STEP_MS);
    }
  }

  async #moveTo(x: number, y: number): Promise<void> {
    await this.page.mouse.move(x, y);
    this.#at = { x, y };
  }
}

/** Runs in the page: draws an arrow that follows the mouse, with a disc while its button is pressed. */
const DRAW = `(() => {
  const pointer = document.createElement('div');
  pointer.style = 'position: fixed; z-index: 10000; left: 0; top: 0; pointer-events: none';
  pointer.innerHTML = '<svg width="56" height="56" viewBox="-28 -28 56 56" style="margin: -28px">' +
    '<circle r="16" fill="#2f81f7" opacity="0"/>' +
    '<path d="M0 0V19L4.6 14.8L7.6 21.8L10.6 20.5L7.7 13.7H14Z" fill="#fff" stroke="#000" stroke-width="1.3"/></svg>';
  document.body.append(pointer);
  const disc = pointer.querySelector('circle');
  addEventListener('mousemove', (event) => {
    pointer.style.transform = 'translate(' + event.clientX + 'px, ' + event.clientY + 'px)';
  }, true);
  for (const [name, opacity] of [['mousedown', 0.45], ['mouseup', 0]])
    addEventListener(name, () => disc.setAttribute('opacity', opacity), true);
})()`;

const NAME = 'alarm-clip-settled.webp';
const SIZE = { width: 960, height: 620 };
/** Milliseconds that a viewer of the recording needs to see a change. */
const GLANCE = 1200;
/** Second of the clip, which begins five seconds before the alarm: the intruder has climbed the fence. */
const SEEN_SECOND = 9;

/** An alarm arrives, its picture and clip are shown, and it is settled: 20 seconds. */
export const RECORDING: Shoot = { names: [NAME], take };

async function take(nodeRed: NodeRed, studio: ScreenshotBrowser): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-recording-'));
  try {
    await nodeRed.deploy(settledByHand());
    const { page } = await openEditor(studio.browser, nodeRed, SIZE);
    await prepare(page);
    const frames = await film(page, nodeRed, folder);
    await page.close();
    studio.replace(NAME, await animate(frames, folder));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** Shows the flow and the sidebar, without pending requests and notifications. */
async function prepare(page: Page): Promise<void> {
  await page.evaluate(`RED.actions.invoke('core:toggle-left-sidebar'); RED.sidebar.show('rvm-sidebar')`);
  await page.click('.red-ui-sidebar-tab-bar [data-tab-id="debug"]');
  await page.click('.rvm-pending [data-action=accept]');
  // The sidebar removes no row while the pointer is over the list.
  await page.mouse.move(420, 420);
  await page.waitForSelector('.rvm-pending', { state: 'hidden' });
  await page.waitForSelector('.red-ui-notification', { state: 'detached' });
}

async function film(page: Page, nodeRed: NodeRed, folder: string): Promise<ScreenFrame[]> {
  const pointer = await Pointer.show(page, 420, 420);
  const screencast = await Screencast.start(page, folder);
  await delay(GLANCE);
  await raiseAlarm(nodeRed);
  await page.waitForFunction(`$('.rvm-events .rvm-thumbnail')[0]?.naturalWidth > 0`);
  await delay(GLANCE);
  await pointer.click('.rvm-events .rvm-opener');
  await page.waitForFunction(`$('.rvm-opened video:visible')[0]?.currentTime >= ${SEEN_SECOND}`);
  await pointer.click('.rvm-events .rvm-opener');
  await pointer.click('#handled .red-ui-flow-node-button-button');
  await page.waitForSelector('.rvm-events .rvm-row[data-state="delivered"]');
  await delay(2 * GLANCE);
  return screencast.stop();
}

/** A picture of the page, and the time in seconds since which it is shown. */
interface ScreenFrame {
  file: string;
  time: number;
}

/** Records a page as PNG files in a folder: one for each change, as fast as the machine allows. */
class Screencast {
  readonly #frames: ScreenFrame[] = [];
  #written: Promise<void> = Promise.resolve();

  private constructor(
    private readonly session: CDPSession,
    private readonly folder: string,
  ) {}

  static async start(page: Page, folder: string): Promise<Screencast> {
    const session = await page.context().newCDPSession(page);
    const screencast = new Screencast(session, folder);
    session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
      screencast.#add(Buffer.from(data, 'base64'), metadata.timestamp ?? Date.now() / 1000);
      void session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
    });
    await session.send('Page.startScreencast', { format: 'png' });
    return screencast;
  }

  /** @returns all frames; the last one is repeated with the time of the end */
  async stop(): Promise<ScreenFrame[]> {
    await this.session.send('Page.stopScreencast');
    await this.#written;
    const last = this.#frames.at(-1);
    if (last === undefined) throw new Error('The page has shown nothing.');
    return [...this.#frames, { file: last.file, time: Date.now() / 1000 }];
  }

  #add(png: Buffer, time: number): void {
    const file = path.join(this.folder, `${String(this.#frames.length).padStart(5, '0')}.png`);
    this.#frames.push({ file, time });
    this.#written = this.#written.then(() => fs.promises.writeFile(file, png));
  }
}

const FRAMES_PER_SECOND = 8;
/** From 0 to 100. At this value text is sharp and edges are clean. */
const QUALITY = 60;

/** Makes an endless WebP animation of frames; `folder` takes temporary files and must exist. */
async function animate(frames: readonly ScreenFrame[], folder: string): Promise<Buffer> {
  const list = path.join(folder, 'frames.txt');
  const file = path.join(folder, 'animation.webp');
  fs.writeFileSync(list, listOf(frames));
  const input = ['-f', 'concat', '-safe', '0', '-i', list, '-vf', `fps=${FRAMES_PER_SECOND}`];
  const output = ['-c:v', 'libwebp_anim', '-quality', `${QUALITY}`, '-compression_level', '6', '-loop', '0'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...input, ...output, file]);
  return fs.readFileSync(file);
}

/** The input of ffmpeg's concat demuxer: each file and its duration. */
function listOf(frames: readonly ScreenFrame[]): string {
  const lines = frames.map(({ file, time }, index) => {
    const until = frames[index + 1]?.time ?? time;
    return `file '${file}'\nduration ${Math.max(0, until - time).toFixed(3)}\n`;
  });
  return lines.join('');
}
